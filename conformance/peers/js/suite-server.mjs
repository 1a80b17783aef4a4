// A revision 2026-07-28 server on the TypeScript SDK, with what our suite looks for (../../suite/README.md).
//
//   node suite-server.mjs [PORT]
//   node suite-server.mjs --stdio
//
// Listens on 127.0.0.1 (a free port unless one is given) at /mcp and prints `listening PORT`.
// Serves until its standard input closes, so it cannot outlive the process that started it.
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node';
import {
    acceptedContent, createMcpHandler, createRequestStateCodec, fromJsonSchema, inputRequired, inputResponse, McpServer, ResourceTemplate,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const stdio = process.argv[2] === '--stdio';
const text = text => ({ content: [{ type: 'text', text }] });
const state = createRequestStateCodec({ key: crypto.getRandomValues(new Uint8Array(32)) });
let running = 0;
let serving;

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNkAAAAAgABTXhnpwAAAABJRU5ErkJggg==';
const WAV = 'UklGRigAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQQAAACAgICA';

const object = properties => ({ type: 'object', properties, required: Object.keys(properties) });
const takes = properties => fromJsonSchema(object(properties));
const string = { type: 'string' };

function build() {
    const server = new McpServer(
        { name: 'typescript-suite', version: '2.4.0' },
        {
            capabilities: { completions: {}, logging: {}, prompts: { listChanged: true }, resources: { subscribe: true, listChanged: true } },
            requestState: { verify: state.verify },
        },
    );
    addTools(server);
    addAsking(server);
    addChanges(server);
    addPrompts(server);
    addResources(server);
    // The SDK's own way to complete wants a schema library.
    server.server.setRequestHandler('completion/complete', async ({ params: { ref, argument } }) => {
        const known = ref.name === 'test_prompt_with_completions' ? items() : ['testing', 'testbed', 'hello'];
        const all = known.filter(value => value.startsWith(argument.value));
        return { completion: { values: all.slice(0, 100), total: all.length, hasMore: all.length > 100 } };
    });
    return server;
}

const items = () => Array.from({ length: 150 }, (_, number) => `item-${String(number + 1).padStart(3, '0')}`);

function addTools(server) {
    const readOnlyHint = { readOnlyHint: true };
    server.registerTool('test_simple_text', { description: 'Returns a text.', annotations: readOnlyHint },
        async () => text('This is a simple text response for testing.'));
    server.registerTool('test_image_content', { description: 'Returns an image.' },
        async () => ({ content: [{ type: 'image', data: PNG, mimeType: 'image/png' }] }));
    server.registerTool('test_audio_content', { description: 'Returns a sound.' },
        async () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] }));
    server.registerTool('test_embedded_resource', { description: 'Returns a resource.' },
        async () => ({ content: [embedded('test://embedded-resource')] }));
    server.registerTool('test_error_handling', { description: 'Always fails.' }, async () => {
        throw new Error('This tool intentionally returns an error for testing');
    });
    server.registerTool('test_structured_output', { description: 'Returns a number.', outputSchema: takes({ n: { type: 'integer' } }) },
        async () => ({ ...text('{"n":1}'), structuredContent: { n: 1 } }));
    server.registerTool('test_tool_with_progress', { description: 'Reports progress.' }, async ({ mcpReq }) => {
        const progressToken = mcpReq._meta?.progressToken;
        for (const progress of [0, 50, 100]) {
            if (progressToken !== undefined) {
                await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } });
            }
            await sleep(50, undefined, { signal: mcpReq.signal });
        }
        return text('Done in three steps.');
    });
    server.registerTool('test_logging_tool', { description: 'Logs, if it is asked to.' }, async ({ mcpReq }) => {
        await mcpReq.log('info', 'The tool was called.');
        return text('Logged.');
    });
    server.registerTool('test_slow', { description: 'Waits that long.', inputSchema: takes({ ms: { type: 'integer' } }) },
        async ({ ms }, { mcpReq }) => {
            running += 1;
            await sleep(ms, undefined, { signal: mcpReq.signal }).finally(() => (running -= 1));
            return text('Done.');
        });
    server.registerTool('test_slow_running', { description: 'Says how many calls wait.' }, async () => text(String(running)));
    const inner = { type: 'object', properties: { text: { ...string, 'x-mcp-header': 'Inner-Text' } } };
    const properties = {
        value: { ...string, 'x-mcp-header': 'Value' },
        count: { type: 'integer', 'x-mcp-header': 'Count' },
        flag: { type: 'boolean', 'x-mcp-header': 'Flag' },
        inner,
    };
    const inputSchema = fromJsonSchema({ type: 'object', properties, required: ['value'] });
    server.registerTool('test_custom_header', { description: 'Has its arguments mirrored in headers.', inputSchema },
        async ({ value, count, flag, inner }) => text(`${value}, ${count}, ${flag}, ${inner?.text}`));
}

const embedded = uri => ({ type: 'resource', resource: { uri, mimeType: 'text/plain', text: 'This is an embedded resource content.' } });
const form = (message, properties) => inputRequired.elicit({ message, requestedSchema: object(properties) });
const question = (message, maxTokens, more) =>
    inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text: message } }], maxTokens, ...more });
const NAME = () => form('What is your name?', { name: string });

function addAsking(server) {
    const tool = (name, handler) => server.registerTool(name, { description: 'Asks the client before it answers.' }, handler);
    const asks = (name, handler) => tool(`test_input_required_result_${name}`, handler);
    const elicitation = async ({ mcpReq }) => {
        const said = inputResponse(mcpReq.inputResponses, 'user_name');
        if (said.kind !== 'elicit') return inputRequired({ inputRequests: { user_name: NAME() } });
        return text(said.action === 'accept' ? `Hello, ${said.content?.name}!` : 'Hello!');
    };
    asks('elicitation', elicitation);
    tool('test_streaming_elicitation', elicitation);
    asks('sampling', async ({ mcpReq }) => {
        const said = inputResponse(mcpReq.inputResponses, 'capital_question');
        if (said.kind === 'sampling') return text(said.result.content.text);
        return inputRequired({ inputRequests: { capital_question: question('What is the capital of France?', 100) } });
    });
    asks('list_roots', async ({ mcpReq }) => {
        const found = inputResponse(mcpReq.inputResponses, 'client_roots');
        if (found.kind === 'roots') return text(found.roots.map(root => root.uri).join(', '));
        return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
    });
    const withState = async ({ mcpReq }) => {
        const said = inputResponse(mcpReq.inputResponses, 'confirm');
        if (said.kind === 'elicit' && mcpReq.requestState()) return text('state-ok, confirmed');
        const inputRequests = { confirm: form('Go on?', { ok: { type: 'boolean' } }) };
        return inputRequired({ inputRequests, requestState: await state.mint({ state: 'state-ok' }) });
    };
    asks('request_state', withState);
    asks('tampered_state', withState);
    asks('multiple_inputs', async ({ mcpReq }) => {
        const given = ['user_name', 'greeting', 'client_roots'].map(key => inputResponse(mcpReq.inputResponses, key));
        if (given.every(it => it.kind !== 'missing')) return text('state-ok');
        const inputRequests = { user_name: NAME(), greeting: question('Greet somebody.', 50), client_roots: inputRequired.listRoots() };
        return inputRequired({ inputRequests, requestState: await state.mint({ state: 'state-ok' }) });
    });
    asks('multi_round', async ({ mcpReq }) => {
        const remembered = mcpReq.requestState();
        const name = remembered?.name ?? acceptedContent(mcpReq.inputResponses, 'step1')?.name;
        const color = acceptedContent(mcpReq.inputResponses, 'step2')?.color;
        if (name === undefined) return inputRequired({ inputRequests: { step1: NAME() }, requestState: await state.mint({}) });
        if (color !== undefined) return text(`${name} likes ${color}`);
        const step2 = form('And your favourite colour?', { color: string });
        return inputRequired({ inputRequests: { step2 }, requestState: await state.mint({ name }) });
    });
    asks('capabilities', async context => {
        const { elicitation: forms } = context.mcpReq.envelope?.['io.modelcontextprotocol/clientCapabilities'] ?? {};
        if (forms) return elicitation(context);
        const said = inputResponse(context.mcpReq.inputResponses, 'capital_question');
        if (said.kind === 'sampling') return text(said.result.content.text);
        return inputRequired({ inputRequests: { capital_question: question('What is the capital of France?', 100) } });
    });
    tool('test_url_elicitation', async ({ mcpReq }) => {
        const said = inputResponse(mcpReq.inputResponses, 'visit');
        if (said.kind === 'elicit') return text(said.action === 'accept' ? 'Visited.' : 'Not visited.');
        const visit = inputRequired.elicitUrl({ message: 'Please visit this page.', url: 'https://example.com/visit' });
        return inputRequired({ inputRequests: { visit }, requestState: await state.mint({}) });
    });
    tool('test_sampling_with_tools', sampleWithTools);
    // What a tool throws becomes a tool error, so it asks for what the client lacks, and the SDK refuses that.
    tool('test_missing_capability', async ({ mcpReq }) => {
        const { sampling } = mcpReq.envelope?.['io.modelcontextprotocol/clientCapabilities'] ?? {};
        if (sampling) return text('This is a simple text response for testing.');
        return inputRequired({ inputRequests: { unasked: question('Nobody is asked.', 1) } });
    });
}

// Two messages for each time that the model may use the tool.
const TURNS = 8;

// Asks again as long as the model uses the tool; the conversation so far travels in the state.
async function sampleWithTools({ mcpReq }) {
    const sofar = mcpReq.requestState()?.messages ?? [{ role: 'user', content: { type: 'text', text: 'How is the weather in Paris?' } }];
    const said = inputResponse(mcpReq.inputResponses, 'weather');
    const messages = [...sofar];
    if (said.kind === 'sampling') {
        const blocks = [said.result.content].flat();
        const uses = blocks.filter(block => block.type === 'tool_use');
        if (uses.length === 0 || sofar.length > TURNS) return text(blocks[0]?.text ?? 'The model would not stop.');
        messages.push({ role: 'assistant', content: said.result.content });
        const results = uses.map(({ id }) => ({ type: 'tool_result', toolUseId: id, content: [{ type: 'text', text: 'Rain.' }] }));
        messages.push({ role: 'user', content: results });
    }
    const tools = [{ name: 'get_weather', inputSchema: object({ city: string }) }];
    const weather = inputRequired.createMessage({ messages, maxTokens: 1000, tools });
    return inputRequired({ inputRequests: { weather }, requestState: await state.mint({ messages }) });
}

function addChanges(server) {
    const tool = (name, inputSchema, handler) => server.registerTool(name, { description: 'Says that something has changed.', inputSchema }, async args => {
        await handler(args);
        return text('Notified.');
    });
    tool('test_trigger_tool_change', undefined, () => (stdio ? server.sendToolListChanged() : serving.notify.toolsChanged()));
    tool('test_trigger_prompt_change', undefined, () => (stdio ? server.sendPromptListChanged() : serving.notify.promptsChanged()));
    tool('test_trigger_resource_change', undefined, () => (stdio ? server.sendResourceListChanged() : serving.notify.resourcesChanged()));
    tool('test_trigger_resource_update', takes({ uri: string }),
        ({ uri }) => (stdio ? server.server.sendResourceUpdated({ uri }) : serving.notify.resourceUpdated(uri)));
}

function addPrompts(server) {
    const user = content => ({ role: 'user', content });
    const say = text => user({ type: 'text', text });
    const prompt = (name, argsSchema, handler) =>
        server.registerPrompt(name, { description: 'A prompt.', argsSchema }, async (...args) => ({ messages: await handler(...args) }));
    prompt('test_simple_prompt', undefined, () => [say('This is a simple prompt for testing.')]);
    prompt('test_prompt_with_arguments', takes({ arg1: string, arg2: string }),
        ({ arg1, arg2 }) => [say(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)]);
    prompt('test_prompt_with_embedded_resource', takes({ resourceUri: string }), ({ resourceUri }) => [user(embedded(resourceUri))]);
    prompt('test_prompt_with_image', undefined, () => [user({ type: 'image', data: PNG, mimeType: 'image/png' })]);
    prompt('test_prompt_with_audio', undefined, () => [user({ type: 'audio', data: WAV, mimeType: 'audio/wav' })]);
    prompt('test_prompt_with_completions', takes({ item: string }), ({ item }) => [say(`The item is ${item}.`)]);
    prompt('test_failing_prompt', undefined, () => {
        throw new Error('the disk is on fire');
    });
    server.registerPrompt('test_input_required_result_prompt', { description: 'Asks what it is about.' }, async ({ mcpReq }) => {
        const context = acceptedContent(mcpReq.inputResponses, 'user_context')?.context;
        if (context !== undefined) return { messages: [say(`Please say something about ${context}.`)] };
        return inputRequired({ inputRequests: { user_context: form('What is this about?', { context: string }) } });
    });
}

function addResources(server) {
    const resource = (name, uri, mimeType, contents) =>
        server.registerResource(name, uri, { description: 'A resource.', mimeType }, async () => ({ contents: [{ uri, mimeType, ...contents() }] }));
    resource('static-text', 'test://static-text', 'text/plain', () => ({ text: 'This is the content of the static text resource.' }));
    resource('static-binary', 'test://static-binary', 'image/png', () => ({ blob: PNG }));
    resource('readme.txt', 'file:///everything/readme.txt', 'text/plain', () => ({ text: 'Read me.' }));
    resource('failing-resource', 'test://failing-resource', 'text/plain', () => {
        throw new Error('the disk is on fire');
    });
    server.registerResource('template', new ResourceTemplate('test://template/{id}/data', { list: undefined }),
        { description: 'The data of an id.', mimeType: 'application/json' }, async (uri, { id }) => {
            const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
            return { contents: [{ uri: uri.href, mimeType: 'application/json', text }] };
        });
}

function serveHttp() {
    serving = createMcpHandler(build, { legacy: 'reject' });
    const handle = toNodeHandler(serving);
    const hostIsLocal = localhostHostValidation();
    const originIsLocal = localhostOriginValidation();
    const http = createServer((request, response) => {
        if (!hostIsLocal(request, response) || !originIsLocal(request, response)) return;
        if (new URL(request.url, 'http://localhost').pathname !== '/mcp') return void response.writeHead(404).end();
        handle(request, response);
    });
    http.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => console.log(`listening ${http.address().port}`));
    process.stdin.resume().on('end', () => process.exit(0));
}

if (stdio) serving = serveStdio(build, { legacy: 'reject' });
else serveHttp();

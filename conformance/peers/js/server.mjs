// A revision 2026-07-28 server on the TypeScript SDK, over Streamable HTTP or standard input and output.
//
//   node server.mjs [PORT]
//   node server.mjs --stdio
//
// Listens on 127.0.0.1 (a free port unless one is given) at /mcp and prints `listening PORT`.
// Serves until its standard input closes, so it cannot outlive the process that started it.
// What it offers: ../README.md.
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node';
import {
    acceptedContent, createMcpHandler, createRequestStateCodec, fromJsonSchema, InMemoryServerEventBus, inputRequired, inputResponse, McpServer,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const stdio = process.argv[2] === '--stdio';
const say = line => (stdio ? process.stderr : process.stdout).write(`${line}\n`);
const text = text => ({ content: [{ type: 'text', text }] });

const NOTE = 'peer://note';
const NAMES = ['Ada', 'Alan', 'Grace'];

// One required property, the way all peers spell it.
const schema = (name, type) => ({ type: 'object', properties: { [name]: { type } }, required: [name] });
const takes = (name, type) => fromJsonSchema(schema(name, type));

// A subscription over HTTP that ends while the server does not end it was closed by the client. Over stdio
// nobody gets to know.
class Bus extends InMemoryServerEventBus {
    subscribe(listener) {
        const unsubscribe = super.subscribe(listener);
        return () => {
            unsubscribe();
            if (!ending) say('closed');
        };
    }
}
const bus = new Bus();
const state = createRequestStateCodec({ key: crypto.getRandomValues(new Uint8Array(32)) });
let ending = false;
// Whatever serves: it is closed to end every subscription in good order, and with it the call that asks for that.
let serving;

function build() {
    const server = new McpServer(
        { name: 'typescript-peer', version: '2.4.0' },
        {
            capabilities: { completions: {}, resources: { subscribe: true } },
            requestState: { verify: state.verify },
        },
    );
    addTools(server);
    addAsking(server);
    addChanges(server);
    server.registerPrompt('greet', { description: 'Greets.', argsSchema: takes('name', 'string') },
        async ({ name }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Hello, ${name}!` } }] }));
    // The SDK's own way to complete wants a schema library.
    server.server.setRequestHandler('completion/complete', async ({ params }) => (
        { completion: { values: NAMES.filter(name => name.startsWith(params.argument.value)) } }));
    server.registerResource('note', NOTE, { description: 'A note.', mimeType: 'text/plain' },
        async () => ({ contents: [{ uri: NOTE, mimeType: 'text/plain', text: 'a note' }] }));
    return server;
}

async function report(mcpReq, progress, total) {
    const progressToken = mcpReq._meta?.progressToken;
    if (progressToken === undefined) return;
    await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total } });
}

function addTools(server) {
    server.registerTool('echo', { description: 'Says it back.', inputSchema: takes('text', 'string') },
        async args => text(args.text));
    server.registerTool('fail', { description: 'Always fails.' },
        async () => ({ ...text('failed on purpose'), isError: true }));
    server.registerTool('progress', { description: 'Reports each step.', inputSchema: takes('steps', 'integer') },
        async ({ steps }, { mcpReq }) => {
            for (let step = 1; step <= steps; step++) await report(mcpReq, step, steps);
            return text('done');
        });
    server.registerTool('slow', { description: 'Waits.', inputSchema: takes('ms', 'integer') },
        async ({ ms }, { mcpReq }) => {
            await report(mcpReq, 0, ms);
            await sleep(ms, undefined, { signal: mcpReq.signal }).catch(reason => {
                say('cancelled');
                throw reason;
            });
            return text('slept');
        });
}

function addAsking(server) {
    const ask = (key, message, property) =>
        ({ [key]: inputRequired.elicit({ message, requestedSchema: schema(property, 'string') }) });
    server.registerTool('ask', { description: 'Asks twice.' }, async ({ mcpReq }) => {
        const name = mcpReq.requestState()?.name ?? acceptedContent(mcpReq.inputResponses, 'who')?.name;
        if (name === undefined) return inputRequired({ inputRequests: ask('who', 'Who are you?', 'name') });
        const colour = acceptedContent(mcpReq.inputResponses, 'which')?.colour;
        if (colour !== undefined) return text(`${name} likes ${colour}`);
        return inputRequired({
            inputRequests: ask('which', 'Which colour?', 'colour'),
            requestState: await state.mint({ name }),
        });
    });
    server.registerTool('sample', { description: 'Asks the model.' }, async ({ mcpReq }) => {
        const said = inputResponse(mcpReq.inputResponses, 'sum');
        if (said.kind === 'sampling') return text(said.result.content.text);
        const messages = [{ role: 'user', content: { type: 'text', text: 'Two and two?' } }];
        return inputRequired({ inputRequests: { sum: inputRequired.createMessage({ messages, maxTokens: 10 }) } });
    });
    server.registerTool('roots', { description: 'Asks where it may work.' }, async ({ mcpReq }) => {
        const found = inputResponse(mcpReq.inputResponses, 'roots');
        if (found.kind === 'roots') return text(found.roots.map(root => root.uri).join());
        return inputRequired({ inputRequests: { roots: inputRequired.listRoots() } });
    });
}

function addChanges(server) {
    server.registerTool('change', { description: 'Says that something has changed.' }, async () => {
        if (stdio) {
            await server.server.sendToolListChanged();
            await server.server.sendResourceUpdated({ uri: NOTE });
        } else {
            serving.notify.toolsChanged();
            serving.notify.resourceUpdated(NOTE);
        }
        return text('changed');
    });
    server.registerTool('end', { description: 'Ends every subscription.' }, async () => {
        ending = true;
        await serving.close();
        return text('ended');
    });
}

function serveHttp() {
    serving = createMcpHandler(build, { legacy: 'reject', bus });
    const handle = toNodeHandler(serving);
    const hostIsLocal = localhostHostValidation();
    const originIsLocal = localhostOriginValidation();

    const http = createServer((request, response) => {
        if (!hostIsLocal(request, response) || !originIsLocal(request, response)) return;
        if (request.url !== '/mcp') return void response.writeHead(404).end();
        handle(request, response);
    });
    http.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => say(`listening ${http.address().port}`));
    process.stdin.resume().on('end', () => process.exit(0));
}

if (stdio) serving = serveStdio(build, { legacy: 'reject' });
else serveHttp();

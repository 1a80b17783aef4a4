// A revision 2026-07-28 client on the TypeScript SDK that goes through the steps of our suite (../../suite/README.md).
//
//   MCP_CONFORMANCE_CONTEXT='{"steps": [...]}' MCP_CONFORMANCE_TRANSPORT=http node suite-client.mjs URL
//   MCP_CONFORMANCE_CONTEXT='{"steps": [...]}' MCP_CONFORMANCE_TRANSPORT=stdio node suite-client.mjs COMMAND
import { setTimeout as sleep } from 'node:timers/promises';

import { Client, ProtocolError, ResourceNotFoundError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const VERSION = '2026-07-28';
const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';
const EVERYTHING = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };

const target = process.argv[2];
const over = process.env.MCP_CONFORMANCE_TRANSPORT;
const { steps, answers = {}, capabilities = EVERYTHING } = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT);

setTimeout(() => process.exit(2), 150_000).unref();

// What is heard outside of a call's own callbacks; the steps that listen look in here.
const heard = new Set();
const tell = (kind, it) => heard.forEach(hear => hear(kind, it));

// A user is a client.
const clients = new Map();
const clientOf = token => {
    if (!clients.has(token)) clients.set(token, connect(token));
    return clients.get(token);
};

async function connect(token) {
    const options = { versionNegotiation: { mode: { pin: VERSION } }, capabilities };
    const client = new Client({ name: 'typescript-suite', version: '2.4.0' }, options);
    if (capabilities.elicitation) client.setRequestHandler('elicitation/create', ({ params }) => elicited(params));
    if (capabilities.sampling) client.setRequestHandler('sampling/createMessage', ({ params }) => said(params));
    if (capabilities.roots) client.setRequestHandler('roots/list', () => ({ roots: answers.roots ?? [{ uri: 'file:///root' }] }));
    client.setNotificationHandler('notifications/message', ({ params }) => tell('log', params));
    for (const what of ['tools', 'prompts', 'resources']) {
        const method = `notifications/${what}/list_changed`;
        client.setNotificationHandler(method, () => tell('event', { method }));
    }
    client.setNotificationHandler('notifications/resources/updated', ({ method, params }) => tell('event', { method, uri: params.uri }));
    const requestInit = token && { headers: { Authorization: `Bearer ${token}` } };
    const transport = over === 'stdio'
        ? new StdioClientTransport({ command: 'sh', args: ['-c', target], env: process.env, stderr: 'inherit' })
        : new StreamableHTTPClientTransport(new URL(target), { requestInit });
    await client.connect(transport);
    return client;
}

function elicited(params) {
    if (params.mode === 'url') return { action: answers.elicitation?.action ?? 'accept' };
    if (answers.elicitation) return answers.elicitation;
    const fields = Object.entries(params.requestedSchema.properties ?? {});
    return { action: 'accept', content: Object.fromEntries(fields.map(([name, field]) => [name, filled(field)])) };
}

function filled(field) {
    if (field.default !== undefined) return field.default;
    const [first] = field.enum ?? field.oneOf?.map(it => it.const) ?? [];
    if (first !== undefined) return first;
    switch (field.type) {
        case 'boolean': return true;
        case 'number': case 'integer': return field.minimum ?? 1;
        case 'array': return (field.items?.enum ?? field.items?.anyOf?.map(it => it.const) ?? []).slice(0, Math.max(1, field.minItems ?? 0));
        default: return { email: 'text@example.com', uri: 'https://example.com/', date: '2026-07-28', 'date-time': '2026-07-28T00:00:00Z' }[field.format]
            ?? 'text'.padEnd(field.minLength ?? 0, 't').slice(0, field.maxLength);
    }
}

function said({ tools, toolChoice }) {
    if ((tools || toolChoice) && !capabilities.sampling.tools) throw new ProtocolError(-32602, 'tools were not declared');
    const used = toolChoice?.mode === 'required' ? tools?.[0] : undefined;
    return used
        ? { role: 'assistant', content: { type: 'tool_use', id: 'use-1', name: used.name, input: {} }, model: 'none', stopReason: 'toolUse' }
        : { role: 'assistant', content: { type: 'text', text: 'text' }, model: 'none', stopReason: 'endTurn' };
}

const LISTS = {
    'tools/list': ['listTools', 'tools'],
    'prompts/list': ['listPrompts', 'prompts'],
    'resources/list': ['listResources', 'resources'],
    'resources/templates/list': ['listResourceTemplates', 'resourceTemplates'],
};
const FLAGS = {
    'notifications/tools/list_changed': 'toolsListChanged',
    'notifications/prompts/list_changed': 'promptsListChanged',
    'notifications/resources/list_changed': 'resourcesListChanged',
};
const CALLS = { 'tools/call': 'callTool', 'prompts/get': 'getPrompt', 'resources/read': 'readResource', 'completion/complete': 'complete' };

async function call(client, step, options) {
    const params = step.log ? { ...step.params, _meta: { [LOG_LEVEL]: step.log } } : step.params;
    if (step.do === 'server/discover') return client.discover(options);
    if (CALLS[step.do]) return client[CALLS[step.do]](params ?? {}, options);
    const [method, member] = LISTS[step.do] ?? [];
    if (!method) throw new Error(`${step.do} is no step that this client knows`);
    // Without a cursor the SDK follows the pages by itself.
    const result = await client[method](params, options);
    return step.all ? { [member]: result[member] } : result;
}

async function take(step) {
    if (step.do === 'sleep') return sleep(step.ms ?? 0, { result: {} });
    const progress = [];
    const log = [];
    const hear = (kind, it) => kind === 'log' && log.push(it);
    heard.add(hear);
    const beside = () => ({ ...(progress.length && { progress }), ...(log.length && { log }) });
    try {
        const client = await clientOf(step.token);
        const options = {
            ...(step.progress && { onprogress: it => progress.push(it) }),
            ...(step.timeout_ms && { timeout: step.timeout_ms, resetTimeoutOnProgress: true }),
            ...(step.max_timeout_ms && { maxTotalTimeout: step.max_timeout_ms }),
            ...(step.cancel_ms && { signal: AbortSignal.timeout(step.cancel_ms) }),
        };
        if (step.do === 'subscriptions/listen') return await listen(client, step);
        return { result: await call(client, step, options), ...beside() };
    } catch (error) {
        return { error: told(error), ...beside() };
    } finally {
        heard.delete(hear);
    }
}

async function listen(client, step) {
    const events = [];
    const filter = step.params?.notifications ?? {};
    // The SDK does not say to which subscription a change belongs.
    const own = ({ method, uri }) => (uri ? filter.resourceSubscriptions?.includes(uri) : filter[FLAGS[method]]);
    let hear;
    const enough = new Promise(resolve => {
        hear = (kind, it) => kind === 'event' && own(it) && events.push(it) >= (step.events ?? Infinity) && resolve('enough');
    });
    heard.add(hear);
    const over = Promise.race([enough, sleep(step.ms ?? 2_000, 'enough')]);
    try {
        for (;;) {
            const subscription = await client.listen(filter);
            const lost = await Promise.race([over, subscription.closed]) === 'remote';
            if (lost && step.again) continue;
            await subscription.close();
            const end = { local: 'closed', graceful: 'graceful' }[await subscription.closed] ?? 'lost';
            return { events, end, acknowledged: subscription.honoredFilter };
        }
    } finally {
        heard.delete(hear);
    }
}

function told(error) {
    const code = ProtocolError.isInstance(error) ? { code: error.code } : {};
    const kind = ResourceNotFoundError.isInstance(error) ? { kind: 'not-found' } : {};
    return { message: `${error.name}: ${error.message}`, ...code, ...kind };
}

const say = (step, line) => console.log(JSON.stringify({ step, ...line }));
const beside = [];
for (const [number, step] of steps.entries()) {
    if (step.do === 'wait') say(number, await Promise.all(beside).then(() => ({ result: {} })));
    else if (step.beside) beside.push(take(step).then(line => say(number, line)));
    else say(number, await take(step));
}
await Promise.all(beside);
for (const client of clients.values()) await client.then(client => client.close(), () => {});
// What was printed may be on its way.
process.stdout.write('', () => process.exit(0));

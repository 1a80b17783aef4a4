// A revision 2026-07-28 client on the TypeScript SDK, over Streamable HTTP or with a server that it starts.
//
//   node client.mjs URL
//   node client.mjs --stdio COMMAND [ARGUMENT]...
//
// Goes through the steps of ../README.md and prints what it saw as one JSON object.
// Exits 0 if it could run through, whatever the server answered.
import { Client, ProtocolError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const VERSION = '2026-07-28';
const TEXT = 'Grüße, 世界 🦀\nline two';
const NOTE = 'peer://note';
const ANSWERS = { 'Who are you?': { name: 'Ada' }, 'Which colour?': { colour: 'green' } };

// Every step is bounded by the SDK's request timeout; this bounds the whole.
setTimeout(() => {
    console.error('client.mjs: gave up after 25 s');
    process.exit(2);
}, 25_000).unref();

const [first, command, ...args] = process.argv.slice(2);
const stdio = first === '--stdio';
const asked = [];
const connect = async () => {
    const client = new Client(
        { name: 'typescript-peer', version: '2.4.0' },
        { versionNegotiation: { mode: { pin: VERSION } }, capabilities: { elicitation: {}, sampling: {}, roots: {} } },
    );
    client.setRequestHandler('elicitation/create', async ({ params }) => {
        asked.push(params.message);
        return { action: 'accept', content: ANSWERS[params.message] };
    });
    client.setRequestHandler('sampling/createMessage', async () => (
        { role: 'assistant', content: { type: 'text', text: 'four' }, model: 'none' }));
    client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: 'file:///work' }] }));
    const transport = stdio ? new StdioClientTransport({ command, args }) : new StreamableHTTPClientTransport(new URL(first));
    await client.connect(transport);
    return client;
};
let client = await connect();
const call = (name, args, options) => client.callTool({ name, arguments: args }, { timeout: 10_000, ...options });

const seen = result => ({ isError: result.isError ?? false, text: result.content.map(block => block.text).join() });
const refused = error =>
    ProtocolError.isInstance(error)
        ? { error: { code: error.code, message: error.message } }
        : { failed: `${error.name} ${error.code ?? ''}: ${error.message}` };
const attempt = (name, args, options) => call(name, args, options).then(seen, refused);

async function progress() {
    const values = [];
    const result = await attempt('progress', { steps: 5 }, { onprogress: update => values.push(update.progress) });
    return { values, ...result };
}

// By then the server is at work on it.
async function cancel() {
    const abort = new AbortController();
    const onprogress = () => abort.abort('no longer wanted');
    return call('slow', { ms: 10_000 }, { signal: abort.signal, onprogress }).then(
        result => ({ cancelled: false, ...seen(result) }),
        error => ({ cancelled: abort.signal.aborted, with: error.name }),
    );
}

async function listen() {
    const heard = [
        new Promise(resolve => client.setNotificationHandler('notifications/tools/list_changed', () => resolve('tools'))),
        new Promise(resolve => client.setNotificationHandler('notifications/resources/updated', ({ params }) => resolve(params.uri))),
    ];
    const subscription = await client.listen({ toolsListChanged: true, resourceSubscriptions: [NOTE] });
    await attempt('change', {});
    const saw = { granted: subscription.honoredFilter, heard: (await Promise.all(heard)).sort() };
    await subscription.close();
    return saw;
}

async function end() {
    const subscription = await client.listen({ toolsListChanged: true });
    await attempt('end', {});
    return subscription.closed;
}

async function restart() {
    const died = new Promise(resolve => (client.onclose = () => resolve(true)));
    process.kill(Number((await attempt('pid', {})).text), 'SIGKILL');
    const saw = { died: await died };
    client = await connect();
    return { ...saw, ...(await attempt('echo', { text: 'still here' })) };
}

const { supportedVersions, capabilities } = await client.discover();
const report = {
    client: 'typescript',
    discover: {
        protocolVersion: client.getNegotiatedProtocolVersion(),
        supportedVersions,
        capabilities: Object.keys(capabilities).sort(),
        server: client.getServerVersion()?.name ?? null,
    },
    list: (await client.listTools()).tools.map(tool => tool.name),
    echo: await attempt('echo', { text: TEXT }),
    fail: await attempt('fail', {}),
    unknown: await attempt('no_such_tool', {}),
    progress: await progress(),
    cancel: await cancel(),
    after: await attempt('echo', { text: 'still here' }),
    ask: { ...(await attempt('ask', {})), asked },
    sample: await attempt('sample', {}),
    roots: await attempt('roots', {}),
    prompt: (await client.getPrompt({ name: 'greet', arguments: { name: 'Ada' } })).messages.map(({ content }) => content.text),
    resource: (await client.readResource({ uri: NOTE })).contents.map(part => part.text),
    complete: (await client.complete({ ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'name', value: 'A' } })).completion.values,
    listen: await listen(),
    ...(stdio ? { restart: await restart() } : {}),
    end: await end(),
};
await client.close();
console.log(JSON.stringify(report));

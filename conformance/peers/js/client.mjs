// A revision 2026-07-28 client on the TypeScript SDK, over Streamable HTTP.
//
//   node client.mjs URL
//
// Goes through the steps of ../README.md and prints what it saw as one JSON object.
// Exits 0 if it could run through, whatever the server answered.
import { Client, ProtocolError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const VERSION = '2026-07-28';
const TEXT = 'Grüße, 世界 🦀\nline two';

// Every step is bounded by the SDK's request timeout; this bounds the whole.
setTimeout(() => {
    console.error('client.mjs: gave up after 25 s');
    process.exit(2);
}, 25_000).unref();

const client = new Client({ name: 'typescript-peer', version: '2.4.0' }, { versionNegotiation: { mode: { pin: VERSION } } });
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

async function cancel() {
    const abort = new AbortController();
    setTimeout(() => abort.abort('no longer wanted'), 200);
    return call('slow', { ms: 10_000 }, { signal: abort.signal }).then(
        result => ({ cancelled: false, ...seen(result) }),
        error => ({ cancelled: abort.signal.aborted, with: error.name }),
    );
}

await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])));
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
};
await client.close();
console.log(JSON.stringify(report));

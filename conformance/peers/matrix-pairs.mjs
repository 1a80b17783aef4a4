// Puts every client of the matrix before every server of it, and prints in JSON what goes wrong.
//
//   node matrix-pairs.mjs OURS PEERS PYTHON
//
// Wants the folders with the programs of this workspace and of the peers' crates, and the Python with the SDK.
import { spawn } from 'node:child_process';
import { isDeepStrictEqual } from 'node:util';

const [ours, peers, python] = process.argv.slice(2);
const here = import.meta.dirname;
const node = process.execPath;

const SERVERS = {
    ours: `'${ours}/everything-server' --until-eof`,
    typescript: `'${node}' '${here}/js/suite-server.mjs'`,
    python: `'${python}' '${here}/py/suite_server.py'`,
    rmcp: `'${peers}/rmcp-server'`,
    'tower-mcp': `'${peers}/tower-mcp-server'`,
};
const CLIENTS = {
    ours: `'${ours}/everything-client'`,
    typescript: `'${node}' '${here}/js/suite-client.mjs'`,
    python: `'${python}' '${here}/py/suite_client.py'`,
    rmcp: `'${peers}/rmcp-client'`,
    'tower-mcp': `'${peers}/tower-mcp-client'`,
};

// How long a client may take, in milliseconds.
const PATIENCE = 60_000;

const call = (name, args, more) => ({ do: 'tools/call', params: { name, ...(args && { arguments: args }) }, ...more });
const says = text => ({ result }) => result?.content?.some(block => block.text?.includes(text));
const asks = name => call(`test_input_required_result_${name}`);

// What a client is told to do, and what has to come of it. A step without a name is there for the next one.
const STEPS = [
    ['discovery', { do: 'server/discover' }, ({ result }) => result?.supportedVersions?.includes('2026-07-28')],
    ['list of tools', { do: 'tools/list', all: true }, ({ result }) => result?.tools?.some(tool => tool.name === 'test_simple_text')],
    ['call', call('test_simple_text'), says('simple text response')],
    ['image', call('test_image_content'), ({ result }) => result?.content?.[0]?.type === 'image'],
    ['tool that fails', call('test_error_handling'), ({ result }) => result?.isError === true],
    ['structured result', call('test_structured_output'), ({ result }) => isDeepStrictEqual(result?.structuredContent, { n: 1 })],
    ['mirrored argument', call('test_custom_header', { value: 'Grüße, 世界' }), says('Grüße, 世界')],
    ['progress', call('test_tool_with_progress', undefined, { progress: true }), ({ result, progress }) => result && progress?.length === 3],
    ['log messages', call('test_logging_tool', undefined, { log: 'debug' }), ({ result, log }) => result && log?.length > 0],
    ['elicitation', asks('elicitation'), ({ result }) => result?.content?.[0]?.text],
    ['elicitation by URL', call('test_url_elicitation'), ({ result }) => result?.content?.[0]?.text],
    ['sampling', asks('sampling'), ({ result }) => result?.content?.[0]?.text],
    ['roots', asks('list_roots'), ({ result }) => result?.content?.[0]?.text],
    ['three at once', asks('multiple_inputs'), ({ result }) => result?.content?.[0]?.text],
    ['several rounds', asks('multi_round'), ({ result }) => result?.content?.[0]?.text],
    ['list of resources', { do: 'resources/list', all: true }, ({ result }) => result?.resources?.length > 0],
    ['list of templates', { do: 'resources/templates/list' }, ({ result }) => result?.resourceTemplates?.length > 0],
    ['resource', { do: 'resources/read', params: { uri: 'test://static-text' } }, ({ result }) => result?.contents?.[0]?.text],
    ['resource by template', { do: 'resources/read', params: { uri: 'test://template/7/data' } }, ({ result }) => result?.contents?.[0]?.text?.includes('7')],
    ['no such resource', { do: 'resources/read', params: { uri: 'test://absent' } }, ({ error }) => error?.code === -32602],
    ['list of prompts', { do: 'prompts/list' }, ({ result }) => result?.prompts?.length > 0],
    ['prompt', { do: 'prompts/get', params: { name: 'test_prompt_with_arguments', arguments: { arg1: 'one', arg2: 'two' } } },
        ({ result }) => result?.messages?.[0]?.content?.text?.includes('one')],
    ['completion', { do: 'completion/complete', params: { ref: { type: 'ref/prompt', name: 'test_prompt_with_completions' }, argument: { name: 'item', value: 'item-00' } } },
        ({ result }) => result?.completion?.values?.length === 9],
    ['cancellation', call('test_slow', { ms: 20_000 }, { cancel_ms: 200 }), ({ error }) => error],
    ['subscription', { do: 'subscriptions/listen', params: { notifications: { toolsListChanged: true } }, events: 1, ms: 5_000, beside: true },
        ({ events, end }) => events?.[0]?.method === 'notifications/tools/list_changed' && end === 'closed'],
    [undefined, { do: 'sleep', ms: 500 }],
    [undefined, call('test_trigger_tool_change')],
    [undefined, { do: 'wait' }],
];
const NAMED = STEPS.filter(([name]) => name);

// Runs a program of the shell; resolves when it has ended.
function program(command, env, input) {
    const child = spawn('sh', ['-c', `exec ${command}`], { env: { ...process.env, ...env }, stdio: [input, 'pipe', 'ignore'] });
    let said = '';
    child.stdout.setEncoding('utf8').on('data', text => said += text);
    return { child, said: () => said, ended: new Promise(resolve => child.on('close', resolve)) };
}

// Starts a server over HTTP; gives its URL.
async function listening(command) {
    const server = program(command, {}, 'pipe');
    const url = await new Promise((resolve, reject) => {
        server.child.stdout.on('data', () => {
            const port = /^listening (\d+)\r?\n/m.exec(server.said());
            if (port) resolve(`http://127.0.0.1:${port[1]}/mcp`);
        });
        server.ended.then(() => reject(new Error(`${command} does not listen`)));
    });
    return { url, end: () => (server.child.stdin.end(), server.ended) };
}

// The names of the steps that went wrong.
async function lost(command, target, transport) {
    const env = {
        MCP_CONFORMANCE_SCENARIO: 'steps',
        MCP_CONFORMANCE_TRANSPORT: transport,
        MCP_CONFORMANCE_PROTOCOL_VERSION: '2026-07-28',
        MCP_CONFORMANCE_CONTEXT: JSON.stringify({ steps: STEPS.map(([, step]) => step) }),
    };
    const client = program(`${command} "$TARGET"`, { ...env, TARGET: target }, 'ignore');
    const timer = setTimeout(() => client.child.kill('SIGKILL'), PATIENCE);
    await client.ended;
    clearTimeout(timer);
    const lines = client.said().split('\n').flatMap(line => {
        try {
            return [JSON.parse(line)];
        } catch {
            return [];
        }
    });
    return STEPS.flatMap(([name, , good], step) => {
        const line = lines.find(line => line.step === step);
        return name && !(line && good(line)) ? [name] : [];
    });
}

const pairs = [];
for (const over of ['http', 'stdio']) {
    for (const [client, command] of Object.entries(CLIENTS)) {
        for (const [server, start] of Object.entries(SERVERS)) {
            console.error(`${client} on ${server}, ${over}`);
            if (over === 'stdio') {
                const missing = await lost(command, `${start.replace(' --until-eof', '')} --stdio`, over);
                pairs.push({ over, client, server, missing });
                continue;
            }
            const { url, end } = await listening(start);
            pairs.push({ over, client, server, missing: await lost(command, url, over) });
            await end();
        }
    }
}
console.log(JSON.stringify({ steps: NAMED.map(([name]) => name), pairs }, undefined, 1));

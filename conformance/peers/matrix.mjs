// Prints ../MATRIX.md from the reports that matrix.sh has made, and from what is known of every failure
// (matrix-verdicts.json).
//
//     node matrix.mjs OUT
//
// Prints nothing but complaints, and fails, as long as a check fails without a verdict, or has one without failing.
import { readdirSync, readFileSync, statSync } from 'node:fs';

const here = new URL('.', import.meta.url);
const text = path => readFileSync(new URL(path, here), 'utf8');
const versionIn = (path, pattern) => pattern.exec(text(path))[1];

const SDKS = {
    ours: ['this project', 'this commit'],
    typescript: ['TypeScript SDK', versionIn('package.json', /protocol\/server": "(.*)"/)],
    python: ['Python SDK', versionIn('py/requirements.in', /^mcp==(.*)$/m)],
    rmcp: ['rmcp', versionIn('rmcp-suite/Cargo.toml', /^rmcp = .*version = "=([^"]*)"/m)],
    'tower-mcp': ['tower-mcp', versionIn('tower-mcp/Cargo.toml', /^tower-mcp = .*version = "=([^"]*)"/m)],
};
const OVER = { http: 'HTTP', h2: 'HTTP/2', stdio: 'stdio' };
const FAULTS = { sdk: 'theirs', fixture: 'of our fixture', suite: 'ours' };
// What some of these programs are not built for: signing in, and extensions.
const LEFT_OUT = /^(server|client)-(auth|credentials|enterprise|tasks|extension)-/;

const out = process.argv[2];
const files = readdirSync(out).filter(name => name.endsWith('.json'));
const runs = files.map(file => {
    const [, sdk, side, over] = /^(.*)-(server|client)-(.*)\.json$/.exec(file);
    const checks = JSON.parse(readFileSync(`${out}/${file}`)).checks.filter(check => !LEFT_OUT.test(check.id));
    return { sdk, side, over, checks };
});
const order = Object.keys(SDKS);
const overs = Object.keys(OVER);
runs.sort((a, b) => order.indexOf(a.sdk) - order.indexOf(b.sdk) || overs.indexOf(a.over) - overs.indexOf(b.over));

const complaints = [];
const levels = new Map();
for (const file of readdirSync(new URL('../suite/requirements', here), { recursive: true })) {
    if (!file.endsWith('.toml')) continue;
    for (const [, id, level] of text(`../suite/requirements/${file}`).matchAll(/^id = "(.*)"\nlevel = "(.*)"$/gm)) levels.set(id, level);
}

const failures = run => run.checks.filter(check => check.outcome === 'fail');
const overOf = (runs, id) => runs.filter(run => failures(run).some(check => check.id === id)).map(run => OVER[run.over]);

// The rows of what an implementation fails, and what is missing or left over among its verdicts.
function judged(sdk, side, verdicts) {
    const own = runs.filter(run => run.sdk === sdk && run.side === side);
    const failing = new Map(own.flatMap(failures).map(check => [check.id, check]));
    const known = verdicts.flatMap(verdict => verdict.checks);
    for (const [id, { expected, seen }] of failing) {
        if (!known.includes(id)) complaints.push(`${sdk}, ${side}: ${id} has no verdict\n    expected ${expected}\n    seen ${seen}`);
    }
    // What depends on who is faster may pass at times.
    for (const id of verdicts.filter(verdict => !verdict.sometimes).flatMap(verdict => verdict.checks)) {
        if (!failing.has(id)) complaints.push(`${sdk}, ${side}: ${id} has a verdict, but does not fail`);
    }
    return verdicts.map(({ checks, does, breaks, fault, sometimes }) => {
        for (const id of breaks.filter(id => !levels.has(id))) complaints.push(`${sdk}, ${side}: there is no requirement ${id}`);
        if (!FAULTS[fault]) complaints.push(`${sdk}, ${side}: ${fault} is nobody's fault`);
        const where = id => [...overOf(own, id), ...(sometimes ? ['not always'] : [])].join(', ');
        const names = checks.map(id => `\`${id}\` (${where(id)})`);
        const rules = breaks.map(id => `\`${id}\` (${levels.get(id)})`);
        return `| ${does} | ${rules.join('<br>')} | ${names.join('<br>')} | ${FAULTS[fault]} |`;
    });
}

function counts(side) {
    const rows = runs.filter(run => run.side === side).map(run => {
        const [name, version] = SDKS[run.sdk];
        const count = outcome => run.checks.filter(check => check.outcome === outcome).length;
        return `| ${name} | ${version} | ${OVER[run.over]} | ${['pass', 'fail', 'warn', 'skip'].map(count).join(' | ')} |`;
    });
    return [`| ${side} | version | over | passes | failures | warnings | skips |`, '|---|---|---|---|---|---|---|', ...rows].join('\n');
}

const examined = JSON.parse(text('matrix-verdicts.json'));
const sections = order.flatMap(sdk => ['server', 'client'].flatMap(side => {
    const rows = judged(sdk, side, examined[sdk]?.[side] ?? []);
    if (rows.length === 0) return [];
    const table = ['| what it does | which breaks | seen by | fault |', '|---|---|---|---|', ...rows].join('\n');
    return [`### ${SDKS[sdk][0]} ${SDKS[sdk][1]}, ${side}\n\n${table}`];
}));
if (complaints.length > 0) {
    console.error(complaints.join('\n'));
    process.exit(1);
}

const date = new Date(Math.max(...files.map(file => statSync(`${out}/${file}`).mtimeMs))).toISOString().slice(0, 10);
console.log(text('matrix.md.in')
    .replace('{date}', date)
    .replace('{servers}', counts('server'))
    .replace('{clients}', counts('client'))
    .replace('{failures}', sections.join('\n\n'))
    .trimEnd());

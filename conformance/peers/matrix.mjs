// Prints the reports that matrix.sh has made as tables: counts, then every failure with what was expected and seen.
import { readdirSync, readFileSync } from 'node:fs';

const out = process.argv[2];
const runs = readdirSync(out).filter(name => name.endsWith('.json')).map(file => {
    const [, sdk, side, over] = /^(.*)-(server|client)-(.*)\.json$/.exec(file);
    return { sdk, side, over, ...JSON.parse(readFileSync(`${out}/${file}`)) };
});
const cut = text => text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|').slice(0, 160);
for (const side of ['server', 'client']) {
    console.log(`\n| ${side} | over | passes | failures | warnings | skips |\n|---|---|---|---|---|---|`);
    for (const run of runs.filter(run => run.side === side)) {
        console.log(`| ${run.sdk} | ${run.over} | ${run.passed} | ${run.failed} | ${run.warnings} | ${run.skipped} |`);
    }
}
for (const run of runs.filter(run => run.failed > 0)) {
    console.log(`\n${run.sdk}, ${run.side}, ${run.over}\n\n| check | expected | seen |\n|---|---|---|`);
    for (const check of run.checks.filter(check => check.outcome === 'fail')) {
        console.log(`| \`${check.id}\` | ${cut(check.expected)} | ${cut(check.seen)} |`);
    }
}

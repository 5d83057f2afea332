import { parseArgs } from 'node:util'
import { flaws, type Flaw } from './flawed-driver.ts'
import { simulate } from './simulate.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '2000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    flaw: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

if (values.flaw !== undefined && !flaws.includes(values.flaw as Flaw)) {
  console.error(`--flaw takes one of: ${flaws.join(', ')}`)
  process.exitCode = 2
} else if (values.help) {
  console.log(`Usage: pnpm sim [--seeds 2000] [--from 1]   run that many seeds
       pnpm sim --seed 42                  run one and print every step`)
} else if (values.seed !== undefined) {
  const result = await simulate(Number(values.seed), values.flaw as Flaw | undefined)
  console.log(result.log.join('\n'))
  console.log(result.violation ?? 'All held.', result.counts, result.faults)
  process.exitCode = result.violation === undefined ? 0 : 1
} else {
  const from = Number(values.from)
  const totals = {
    seeds: 0,
    steps: 0,
    crashes: 0,
    operations: 0,
    acknowledged: 0,
    failed: 0,
    unknown: 0,
    reads: 0,
    queries: 0,
  }
  for (let seed = from; seed < from + Number(values.seeds); seed++) {
    const { violation, steps, crashes, counts } = await simulate(seed, values.flaw as Flaw | undefined)
    totals.seeds++
    totals.steps += steps
    totals.crashes += crashes
    for (const name of Object.keys(counts) as (keyof typeof counts)[]) totals[name] += counts[name]
    if (violation === undefined) continue
    console.error(`Seed ${seed}: ${violation}\nSee every step: pnpm sim --seed ${seed}`)
    process.exitCode = 1
    break
  }
  console.log(totals)
}

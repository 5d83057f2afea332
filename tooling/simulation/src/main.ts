import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { faultKinds, partNames, type FaultKind, type Part } from './faults/faults.ts'
import { flawNames, type Flaw } from './faults/flaws.ts'
import { saveSimulation } from './run/result-file.ts'
import { runSeeds } from './run/run-seeds.ts'
import { simulate } from './run/simulate.ts'
import type { SimulationOptions } from './run/simulation.ts'
import type { SimulationTotals } from './run/totals.ts'
import { clientKinds } from './faults/circumstances.ts'

const usage = `Usage: pnpm sim [--seeds 2000] [--from 1] [--processes n]   run that many seeds
       pnpm sim --seed 42                                  run one and print every step
Both take --flaw and --faults, a list with commas, to break something on purpose or to let only some things go wrong,
--life-of FLAW gives all lives the circumstances in which a flaw shows, without the flaw, --clients sets the work of the clients in
every life; --with, a list too, sets the parts of every life.
  clients: ${clientKinds.join(', ')}
  with:   ${partNames.join(', ')}
  flaws:  ${flawNames.join(', ')}
  faults: ${faultKinds.join(', ')}`

const PROGRESS_MS = 15_000

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '2000' },
    from: { type: 'string', default: '1' },
    processes: { type: 'string', default: String(availableParallelism()) },
    seed: { type: 'string' },
    flaw: { type: 'string' },
    'life-of': { type: 'string' },
    faults: { type: 'string' },
    clients: { type: 'string' },
    with: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

const faults = values.faults?.split(',')
const parts = values.with?.split(',')
const options: SimulationOptions = {
  flaw: values.flaw as Flaw | undefined,
  lifeOf: values['life-of'] as Flaw | undefined,
  faults: faults as FaultKind[] | undefined,
  clients: values.clients as SimulationOptions['clients'],
  parts: parts as Part[] | undefined,
}
const isKnown =
  [values.flaw, values['life-of']].every((name) => name === undefined || flawNames.includes(name as Flaw)) &&
  (values.clients === undefined || clientKinds.some((kind) => kind === values.clients)) &&
  (parts ?? []).every((part) => partNames.includes(part as Part)) &&
  (faults ?? []).every((fault) => faultKinds.includes(fault as FaultKind))
const numbers = [values.seeds, values.from, values.processes, values.seed ?? '1'].map(Number)

if (values.help) console.log(usage)
else if (!isKnown || !numbers.every((value) => Number.isSafeInteger(value) && value > 0)) {
  console.error(usage)
  process.exitCode = 2
} else if (values.seed === undefined) await runMany()
else await runOne(Number(values.seed))

async function runOne(seed: number): Promise<void> {
  const { log, violation, circumstances, checked: _, ...rest } = await simulate(seed, options)
  const { writeOrder, onIndexFailure, deleteDelayMs, maxSkewMs, failoverOf, replicasEach, cacheMs, ids } =
    circumstances
  console.log(log.join('\n'))
  const chosen = {
    writeOrder,
    onIndexFailure,
    deleteDelayMs,
    maxSkewMs,
    failoverOf,
    replicasEach,
    cacheMs,
    ids,
  }
  console.log({ ...chosen, ...rest })
  console.log(violation === undefined ? 'All held.' : `Not ${violation.check}: ${violation.what}`)
  process.exitCode = violation === undefined ? 0 : 1
}

/** Returns the command that replays a seed step by step. */
function replay(seed: number): string {
  const given = [
    values.flaw === undefined ? '' : ` --flaw '${values.flaw}'`,
    values['life-of'] === undefined ? '' : ` --life-of '${values['life-of']}'`,
    values.faults === undefined ? '' : ` --faults ${values.faults}`,
    values.clients === undefined ? '' : ` --clients ${values.clients}`,
    values.with === undefined ? '' : ` --with ${values.with}`,
  ]
  return `pnpm sim --seed ${seed}${given.join('')}`
}

async function runMany(): Promise<void> {
  const [from, seeds, processes] = [values.from, values.seeds, values.processes].map(Number) as [
    number,
    number,
    number,
  ]
  const startedAt = Date.now()
  const seconds = (): number => Math.round((Date.now() - startedAt) / 1000)
  const reported = new Set<number>()
  let toldAt = startedAt
  const onProgress = ({ seeds: done, violations }: SimulationTotals): void => {
    for (const { seed, check, what } of violations) {
      if (reported.has(seed)) continue
      reported.add(seed)
      console.error(`Seed ${seed}: not ${check}: ${what}\nSee every step: ${replay(seed)}`)
    }
    if (Date.now() - toldAt < PROGRESS_MS) return
    toldAt = Date.now()
    console.error(`${done} of ${seeds} seeds, ${violations.length} violations, ${seconds()} s`)
  }
  const totals = await runSeeds({ from, seeds, processes, onProgress, ...options })
  const run = {
    from,
    to: from + seeds - 1,
    processes,
    seconds: seconds(),
    clients: options.clients,
    parts: options.parts,
    ...totals,
  }
  // Runs with the life of a flaw, or with selected faults only, are not kept as results.
  const isUsual = [values.flaw, values['life-of'], values.faults].every((value) => value === undefined)
  if (isUsual) saveSimulation(run)
  console.log(run)
  process.exitCode = totals.violations.length === 0 ? 0 : 1
}

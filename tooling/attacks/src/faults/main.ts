import { parseArgs } from 'node:util'
import { type Cluster, startCluster } from '../lab/cluster.ts'
import { runChanges, type ChangesRun } from './changes/run-changes.ts'
import { runReplicatedHistory } from './history/run-replicated-history.ts'
import { runHistory, type HistoryRun } from './history/run-history.ts'
import { runReplicas, type ReplicasRun } from './replicas/run-replicas.ts'
import { runScenario, type ScenarioRun } from './matrix/run-scenario.ts'
import { Skip } from './matrix/scenario.ts'
import { scenariosNamed } from './matrix/scenarios.ts'
import { writeReport } from './report.ts'
import { circumstances, saveResult } from './results.ts'

const usage = `Usage: pnpm faults history [--operations 100000] [--processes 8] [--clients 8] [--seed 1]
                            [--replicas n]                  with reads from so many replicas of each shard; its result is not kept
       pnpm faults matrix [name…] [--amount n] [--seed 1]   all faults, or these
       pnpm faults changes [--minutes 30] [--seed 1]        consumers of changes, while all kinds of harm are done
       pnpm faults replicas [--minutes 10] [--replicas 2] [--seed 1]
                                                            reads from so many replicas of each shard, while harm is done to them
       pnpm faults report                                   docs/reliability.md and its tables from the last results`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    operations: { type: 'string', default: '100000' },
    processes: { type: 'string', default: '8' },
    clients: { type: 'string', default: '8' },
    amount: { type: 'string' },
    minutes: { type: 'string' },
    replicas: { type: 'string' },
    seed: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
})

const amounts = {
  seed: Number(values.seed),
  processes: Number(values.processes),
  clients: Number(values.clients),
  operations: Number(values.operations),
}
const replicasEach = values.replicas === undefined ? undefined : Number(values.replicas)

async function history(): Promise<void> {
  if (replicasEach !== undefined) {
    tell('history with reads from replicas', await runReplicatedHistory({ ...amounts, replicasEach }))
    return
  }
  const cluster = await startCluster()
  try {
    const database = await cluster.createDatabase()
    const run = await runHistory({
      urls: database.adminUrls(),
      ...amounts,
    })
    tell('history', run)
    saveResult('history', { kind: 'history', ...circumstances(), run })
  } finally {
    await cluster.stop()
  }
}

async function matrix(names: readonly string[]): Promise<void> {
  const chosen = scenariosNamed(names)
  let shared: Cluster | undefined
  try {
    for (const scenario of chosen) {
      const { name } = scenario
      if (scenario.ownCluster === undefined) shared ??= await startCluster()
      try {
        const amount = values.amount === undefined ? scenario.full : Number(values.amount)
        const run = await runScenario(scenario, shared, { seed: Number(values.seed), amount })
        tell(name, run)
        saveResult(name, { kind: 'fault', name, ...circumstances(), run })
      } catch (error) {
        if (error instanceof Skip) {
          console.error(`SKIPPED ${name}: ${error.message}`)
          saveResult(name, { kind: 'skipped', name, reason: error.message, ...circumstances() })
          continue
        }
        // The next scenarios get fresh servers.
        console.error(`The run of "${name}" was aborted.`, error)
        // Replaces an older result, which would pass for a current one.
        const reason = error instanceof Error ? error.message : String(error)
        saveResult(name, { kind: 'broke off', name, reason, ...circumstances() })
        process.exitCode = 1
        await shared?.stop()
        shared = undefined
      }
    }
  } finally {
    await shared?.stop()
  }
}

const CHANGES_ROUND_MS = 55_000
const REPLICAS_ROUND_MS = 25_000

async function changes(): Promise<void> {
  const cluster = await startCluster()
  try {
    const database = await cluster.createDatabase()
    const run = await runChanges({
      urls: database.urls,
      adminUrls: database.adminUrls(),
      seed: Number(values.seed),
      rounds: Number(values.minutes ?? 30),
      roundMs: CHANGES_ROUND_MS,
      writers: 8,
      consumers: 3,
      processes: 2,
      async restartServer(random) {
        const shard = random.pick(cluster.shards)
        await shard.kill()
        await shard.restart()
      },
    })
    tellRun('changes', run)
    saveResult('changes', { kind: 'changes', ...circumstances(), run })
  } finally {
    await cluster.stop()
  }
}

async function replicas(): Promise<void> {
  const run = await runReplicas({
    seed: Number(values.seed),
    rounds: 2 * Number(values.minutes ?? 10),
    roundMs: REPLICAS_ROUND_MS,
    processes: 3,
    replicas: replicasEach ?? 2,
  })
  tellRun('replicas', run)
  saveResult('replicas', { kind: 'replicas', ...circumstances(), run })
}

function tellRun(name: string, { wrongs, ...run }: ChangesRun | ReplicasRun): void {
  console.log(`${wrongs.length === 0 ? 'held  ' : 'BROKEN'} ${name}: ${JSON.stringify(run)}`)
  for (const wrong of wrongs.slice(0, 10)) console.log(`       ${wrong}`)
  if (wrongs.length > 0) process.exitCode = 1
}

function tell(name: string, run: HistoryRun | ScenarioRun): void {
  const { counts, watch, final, wrongs, seconds } = run
  const { acknowledged, failed, unknown, reads, queries } = counts
  console.log(
    `${wrongs.length === 0 ? 'held  ' : 'BROKEN'} ${name}: ${Math.round(seconds)} s, ${acknowledged} acknowledged, ` +
      `${failed} refused, ${unknown} unknown, ${reads} reads, ${queries} queries, ${watch.looks} rows looked for, ` +
      `${final.danglingBeforeSweep} dangling before the sweep, longest call ${Math.round(counts.longestMs)} ms` +
      ('facts' in run
        ? `, ${JSON.stringify(run.facts)}, recovered in ${Math.round(run.recoveredMs ?? NaN)} ms`
        : ''),
  )
  const { notIndexed, incompleteQueries, lackedInQueries } = counts
  const { excused, kept } = watch
  const also = { notIndexed, incompleteQueries, lackedInQueries, excused, kept, ...run.resources }
  console.log(`       ${JSON.stringify(also)}`)
  if ('facts' in run) {
    const { acknowledgedMeanwhile, promised, connections } = run
    console.log(`       ${JSON.stringify({ acknowledgedMeanwhile, promised, connections })}`)
  }
  console.log(`       ${JSON.stringify(counts.errors)}`)
  for (const wrong of wrongs.slice(0, 10)) console.log(`       ${wrong}`)
  if (wrongs.length > 10) console.log(`       and ${wrongs.length - 10} more`)
  if (wrongs.length > 0) process.exitCode = 1
}

const [command, ...names] = positionals
if (values.help) console.log(usage)
else if (replicasEach !== undefined && !(Number.isSafeInteger(replicasEach) && replicasEach > 0)) {
  console.error(`--replicas must be a whole number of at least 1; got ${values.replicas}.`)
  process.exitCode = 2
} else if (command === 'history') await history()
else if (command === 'changes') await changes()
else if (command === 'replicas') await replicas()
else if (command === 'matrix') await matrix(names)
else if (command === 'report') console.log(writeReport())
else {
  console.error(usage)
  process.exitCode = 2
}
// Node sometimes waits for ever for sockets that were cut in the middle of a request.
process.exit()

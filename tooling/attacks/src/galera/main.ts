import { parseArgs } from 'node:util'
import { runFailover } from './failover.ts'
import { findGalera, howToInstallGalera } from './find-galera.ts'
import { measureRates, probeFence, probeQuorum, probeTwoNodes } from './probes.ts'
import { saveResult } from './results.ts'
import { startCluster } from './start-cluster.ts'

const HELP = `A Galera cluster of three nodes as a shard. Results go to docs/measured/galera as JSON.

  pnpm galera [options]           faults under load, and checks
  pnpm galera quorum              two of three nodes are killed
  pnpm galera fence               an epoch raised on the same and on another node
  pnpm galera two-nodes           what happens when two nodes are written at once
  pnpm galera rates               writes per second, beside a server of its own

  --rounds <number>     faults, one after the other (default 6)
  --seconds <number>    of load before each (default 5)
  --callers <number>    (default 32)
  --fault <fault>       kill or pause: SIGKILL or SIGSTOP for the node that is written (default kill)
  --others <number>     shards beside the cluster, a server each (default 1)
  --sync-wait <bits>    wsrep_sync_wait of all nodes (default 1)
  --flush <number>      innodb_flush_log_at_trx_commit of all nodes (default 1)
  --name <name>         of the result file
`

const { values, positionals } = parseArgs({
  args: process.argv.slice(2).filter((argument) => argument !== '--'),
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '6' },
    seconds: { type: 'string', default: '5' },
    callers: { type: 'string', default: '32' },
    fault: { type: 'string', default: 'kill' },
    others: { type: 'string', default: '1' },
    'sync-wait': { type: 'string', default: '1' },
    flush: { type: 'string', default: '1' },
    name: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
})

async function failover(): Promise<boolean> {
  const result = await runFailover(
    {
      fault: values.fault === 'pause' ? 'pause' : 'kill',
      rounds: Number(values.rounds),
      seconds: Number(values.seconds),
      callers: Number(values.callers),
      others: Number(values.others),
      serverArguments: [
        `--wsrep-sync-wait=${values['sync-wait']}`,
        `--innodb-flush-log-at-trx-commit=${values.flush}`,
      ],
    },
    (line) => console.log(line),
  )
  tell(values.name ?? `${values.fault}-sync-wait-${values['sync-wait']}-others-${values.others}`, result)
  return result.tally.wrongs.length === 0 && result.tally.staleLooks === 0 && result.nodesEqual
}

async function quorum(): Promise<boolean> {
  const result = await probeQuorum(Number(values.callers))
  tell('quorum', result)
  return result.tally.wrongs.length === 0 && result.tally.staleLooks === 0 && result.acknowledgedAlone === 0
}

/** The fence must hold on one node; across nodes it does not. */
async function fence(): Promise<boolean> {
  const cluster = await startCluster()
  try {
    const same = await probeFence(cluster, 0, 0)
    const across = await probeFence(cluster, 0, 1)
    tell('fence', { same, across })
    return same.late === 0
  } finally {
    await cluster.stop()
  }
}

async function twoNodes(): Promise<boolean> {
  const results: Record<string, unknown> = {}
  for (const syncWait of [0, 1]) {
    const cluster = await startCluster({ serverArguments: [`--wsrep-sync-wait=${syncWait}`] })
    try {
      results[`wsrep_sync_wait ${syncWait}`] = await probeTwoNodes(cluster, Number(values.seconds))
    } finally {
      await cluster.stop()
    }
  }
  tell('two-nodes', results)
  return true
}

async function rates(): Promise<boolean> {
  tell('rates', {
    callers: Number(values.callers),
    writesPerSecond: await measureRates(5, Number(values.callers)),
  })
  return true
}

function tell(name: string, result: object): void {
  console.log(JSON.stringify(result, null, 2))
  console.log(saveResult(name, result))
}

const commands: Readonly<Record<string, () => Promise<boolean>>> = {
  failover,
  quorum,
  fence,
  'two-nodes': twoNodes,
  rates,
}
const command = commands[positionals[0] ?? 'failover']
if (values.help || command === undefined) {
  process.stdout.write(HELP)
  process.exitCode = values.help ? 0 : 2
} else if (findGalera() === undefined) {
  console.error(`SKIPPED: nothing was run.\n${howToInstallGalera}`)
} else {
  process.exitCode = (await command()) ? 0 : 1
}

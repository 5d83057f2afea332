import { parseArgs } from 'node:util'
import { findServer } from '@looseleaf-tooling/mariadb'
import { startCluster } from '../lab/cluster.ts'
import { circumstances } from '../faults/results.ts'
import { runGrowth } from './run-growth.ts'

const usage = `Usage: pnpm growth [--entities 5000] [--seconds 0] [--kills] [--seed 1] [--sizes 2,3,5,2] [--writers 8] [--readers 2]
                   [--consumers 2] [--clients 2] [--rest 10] [--movers 2] [--baseline 10] [--speed 1] [--rate N] [--mysql] [--json]

Grows and shrinks a store on real servers while processes write, read, follow and clean it, and compares everything with a model.
  --seconds   least time of the growing and shrinking, which is repeated until then
  --kills     kills and stops movers, writers and servers all the time
  --rest      pause of each caller after a call, in milliseconds
  --rate      the most rows that each mover copies or deletes, and the cleaner compares, in a second; default: no limit
  --mysql     on MySQL, whose server LOOSELEAF_MYSQLD names`

const { values } = parseArgs({
  options: {
    entities: { type: 'string', default: '5000' },
    seconds: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    sizes: { type: 'string', default: '2,3,5,2' },
    writers: { type: 'string', default: '8' },
    readers: { type: 'string', default: '2' },
    consumers: { type: 'string', default: '2' },
    clients: { type: 'string', default: '2' },
    rest: { type: 'string', default: '10' },
    movers: { type: 'string', default: '2' },
    baseline: { type: 'string', default: '10' },
    speed: { type: 'string', default: '1' },
    rate: { type: 'string' },
    kills: { type: 'boolean', default: false },
    mysql: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

/** Servers that have all data of 200,000 entities in memory, as those of a site would. */
const SERVER_ARGUMENTS = [
  '--innodb-buffer-pool-size=512M',
  // MariaDB and MySQL name the log size differently; with `loose`, a server ignores the name that it does not know.
  '--loose-innodb-log-file-size=256M',
  '--loose-innodb-redo-log-capacity=256M',
]

async function main(): Promise<void> {
  const sizes = values.sizes.split(',').map(Number)
  const cluster = await startCluster({ shards: Math.max(...sizes), serverArguments: SERVER_ARGUMENTS })
  try {
    const began = performance.now()
    const run = await runGrowth({
      cluster,
      sizes,
      seed: Number(values.seed),
      entities: Number(values.entities),
      seconds: Number(values.seconds),
      baselineSeconds: Number(values.baseline),
      writers: Number(values.writers),
      readers: Number(values.readers),
      consumers: Number(values.consumers),
      clients: Number(values.clients),
      restMs: Number(values.rest),
      movers: Number(values.movers),
      speed: Number(values.speed),
      rowsPerSecond: values.rate === undefined ? undefined : Number(values.rate),
      kills: values.kills,
      onEvent: (text) =>
        console.error(`${((performance.now() - began) / 1_000).toFixed(1).padStart(7)} s  ${text}`),
    })
    const { wrongs, ...figures } = run
    if (values.json) console.log(JSON.stringify({ ...circumstances(), ...run }, null, 2))
    else {
      console.log(`${wrongs.length === 0 ? 'held  ' : 'BROKEN'} ${JSON.stringify(figures, null, 2)}`)
      for (const wrong of wrongs.slice(0, 20)) console.log(`       ${wrong}`)
      if (wrongs.length > 20) console.log(`       and ${wrongs.length - 20} more`)
    }
    if (wrongs.length > 0) process.exitCode = 1
  } finally {
    await cluster.stop()
  }
}

if (values.help) console.log(usage)
else if (values.mysql && findServer()?.flavor !== 'mysql') {
  console.error('--mysql needs a MySQL server: set LOOSELEAF_MYSQLD to the path of its mysqld.')
  process.exitCode = 2
} else await main()
// Node sometimes waits for ever for sockets that were cut in the middle of a request.
process.exit()

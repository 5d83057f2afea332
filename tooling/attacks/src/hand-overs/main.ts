import { parseArgs } from 'node:util'
import { startCluster } from '../lab/cluster.ts'
import { runKills } from './run-kills.ts'

const usage = `Usage: pnpm hand-overs [--times 20] [--seed 1]

Kills movers right after they have handed a group of buckets over, and mostly the writers too, and compares every entity at the end.`

const { values } = parseArgs({
  options: {
    times: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
})

async function main(): Promise<void> {
  const cluster = await startCluster({ shards: 2 })
  try {
    const { wrongs, ...figures } = await runKills({
      cluster,
      times: Number(values.times),
      seed: Number(values.seed),
      onEvent: (text) => console.error(text),
    })
    console.log(`${wrongs.length === 0 ? 'held  ' : 'BROKEN'} ${JSON.stringify(figures)}`)
    for (const wrong of wrongs.slice(0, 20)) console.log(`       ${wrong}`)
    if (wrongs.length > 0) process.exitCode = 1
  } finally {
    await cluster.stop()
  }
}

if (values.help) console.log(usage)
else await main()

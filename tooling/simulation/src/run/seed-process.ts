import type { Job } from './seed-processes.ts'
import { simulate } from './simulate.ts'
import { addTotals, noTotals, totalsOf } from './totals.ts'

/* A process that runs the seeds that it receives, one job at a time. */

process.on('message', (job: Job) => void run(job))

async function run({ from, seeds, options }: Job): Promise<void> {
  const totals = noTotals()
  for (let seed = from; seed < from + seeds; seed++)
    addTotals(totals, totalsOf(await simulate(seed, options)))
  process.send?.(totals)
}

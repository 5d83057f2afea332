import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { DataStore, mysqlShards } from 'looseleaf'
import { createQueue, type JobItem } from '../src/queue/queue.ts'
import { work } from '../src/queue/worker.ts'
import { queueOptions, type Line } from './queue-options.ts'

/*
 * A worker as a process of its own. Its environment has the addresses of the shards (`SHARDS`, as JSON) and a file (`LOG`), to which it appends
 * a line per step. SIGTERM ends it after the jobs in hand.
 */
function log(step: Line['step'], { id, attempts, due }: JobItem): void {
  const line: Line = { step, id, attempts, at: Date.now(), due: due!.getTime() }
  appendFileSync(process.env['LOG']!, `${JSON.stringify(line)}\n`)
}

const shards = mysqlShards(JSON.parse(process.env['SHARDS']!) as string[])
const store = await DataStore.open({ shards, onWarning: () => undefined })
const stop = new AbortController()
process.once('SIGTERM', () => stop.abort())

await work(createQueue(store, 'mail', queueOptions), {
  signal: stop.signal,
  atOnce: 5,
  idleMs: 50,
  async handle(job) {
    log('begin', job)
    await sleep(20)
    if (job.task === 'fails') throw new Error('It never works.')
    if (job.task === 'kills') {
      // The jobs that the worker does beside it are done by then.
      await sleep(400)
      process.kill(process.pid, 'SIGKILL')
    }
    log('done', job)
  },
})
await store.close()

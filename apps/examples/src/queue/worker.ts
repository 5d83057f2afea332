import { setTimeout as sleep } from 'node:timers/promises'
import { isLooseleafError } from 'looseleaf'
import type { JobItem, Queue } from './queue.ts'

export interface WorkerOptions {
  /** Does a job. It may be called again for the same job, so it has to be idempotent. `signal` fires when the lease is lost. */
  readonly handle: (job: JobItem, signal: AbortSignal) => Promise<void>
  /** Ends the worker after the jobs in hand. */
  readonly signal: AbortSignal
  /** Jobs that are taken and done at once. */
  readonly atOnce?: number
  /** Milliseconds until the next look at an empty queue. */
  readonly idleMs?: number
}

/** Takes and does jobs until the signal fires. While the store fails it looks again after `idleMs`. Rejects with errors that do not pass. */
export async function work(
  queue: Queue,
  { handle, signal, atOnce = 20, idleMs = 500 }: WorkerOptions,
): Promise<void> {
  // Workers begin at different stripes, so that they seldom want the same jobs.
  let stripe = Math.floor(Math.random() * queue.stripes)
  let empty = 0
  while (!signal.aborted) {
    try {
      const jobs = await queue.take(stripe++ % queue.stripes, atOnce)
      await Promise.all(jobs.map((job) => doJob(queue, job, handle)))
      empty = jobs.length === 0 ? empty + 1 : 0
    } catch (error) {
      if (!isLooseleafError(error) || !error.retryable) throw error
      empty = queue.stripes
    }
    if (empty < queue.stripes) continue
    empty = 0
    await sleep(idleMs, undefined, { signal }).catch(() => undefined)
  }
}

async function doJob(queue: Queue, job: JobItem, handle: WorkerOptions['handle']): Promise<void> {
  const lost = new AbortController()
  const done = new AbortController()
  const lease = keepLease(queue, job, lost, done.signal)
  let failure: string | undefined
  try {
    await handle(job, lost.signal)
  } catch (error) {
    failure = error instanceof Error ? error.message : 'The handler threw no error.'
  }
  done.abort()
  const latest = await lease
  // The job of a lost lease belongs to another worker.
  if (lost.signal.aborted) return
  if (failure === undefined) await queue.finish(latest)
  else await queue.fail(latest, failure)
}

/** Prolongs the lease of a job in work at each third of it. Resolves with the job's latest state once the work is done. */
async function keepLease(
  queue: Queue,
  job: JobItem,
  lost: AbortController,
  done: AbortSignal,
): Promise<JobItem> {
  let latest = job
  for (;;) {
    await sleep(queue.leaseMs / 3, undefined, { signal: done }).catch(() => undefined)
    if (done.aborted) return latest
    const extended = await queue.extend(latest).catch(() => latest)
    if (extended === undefined) {
      lost.abort(new Error('The lease of the job was lost.'))
      return latest
    }
    latest = extended
  }
}

import { fork, type ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundleOf } from '@looseleaf-tooling/vitest/bundle'
import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { DataStore, mysqlShards } from 'looseleaf'
import { expect, onTestFinished, test, vi } from 'vitest'
import { indexes, Job } from '../src/queue/kinds.ts'
import { createQueue, type Queue } from '../src/queue/queue.ts'
import { queueOptions, type Line } from './queue-options.ts'

const JOBS = 80
const WORKERS = 3
const KILLS = 3

test('workers that are killed at any time lose no job, and none is done again before its lease has ended', async () => {
  const { urls } = await freshShards(2)
  const shards = mysqlShards(urls)
  const store = await DataStore.open({ shards, indexes, migrate: true, onWarning: () => undefined })
  onTestFinished(() => store.close())
  const queue = createQueue(store, 'mail', queueOptions)
  const add = (task: string, count: number): Promise<string[]> =>
    Promise.all(Array.from({ length: count }, (_, i) => queue.add(`${task} ${i}`, task)))
  const ids = { works: await add('works', JOBS), fails: await add('fails', 3), kills: await add('kills', 1) }

  const lines = await killWorkers(queue, urls)

  const linesOf = (id: string, step: Line['step']): Line[] =>
    lines.filter((line) => line.id === id && line.step === step)
  for (const id of Object.values(ids).flat()) {
    const begun = linesOf(id, 'begin').toSorted((a, b) => a.attempts - b.attempts)
    // One worker at most has an attempt.
    expect(new Set(begun.map(({ attempts }) => attempts)).size).toBe(begun.length)
    if (ids.fails.includes(id)) continue
    for (const [i, { at }] of begun.slice(1).entries()) expect(at).toBeGreaterThanOrEqual(begun[i]!.due)
  }
  expect(ids.works.filter((id) => linesOf(id, 'done').length === 0)).toEqual([])
  // The kills took place amid the work.
  expect(lines.filter(({ step, attempts }) => step === 'begin' && attempts > 1).length).toBeGreaterThan(0)
  const dead = await queue.deadLetters()
  expect(dead.map(({ id }) => id).toSorted()).toEqual([...ids.fails, ...ids.kills].toSorted())
  for (const { attempts } of dead) expect(attempts).toBe(queueOptions.maxAttempts)
  expect(await queue.size()).toBe(0)
})

test('a page of due jobs examines no rows of jobs that were taken, finished or given back', async () => {
  const { urls } = await freshShards(2)
  await using store = await DataStore.open({ shards: mysqlShards(urls), indexes, migrate: true })
  let now = Date.now()
  const queue = createQueue(store, 'mail', { ...queueOptions, stripes: 1, now: () => now })
  for (let i = 0; i < 40; i++) await queue.add(`${i}`, `${i}`)
  const { byDue } = Job.in(store)
  let examined = 0
  let delivered = 0
  while ((await queue.size()) > 0) {
    now += queueOptions.leaseMs
    const due = await byDue.page({ stripe: 'mail/0', due: { lte: new Date(now) } }, { limit: 10 })
    examined += due.cost.rowsExamined
    const taken = await queue.take(0, 10)
    delivered += taken.length
    for (const [i, job] of taken.entries())
      if (i % 2 === 0) await queue.finish(job)
      else await queue.fail(job, 'not today')
  }
  expect(examined).toBe(delivered)
  expect(delivered).toBeGreaterThan(40)
})

/** Runs workers until the queue is empty, kills some of them meanwhile, and returns the lines of all logs. */
async function killWorkers(queue: Queue, urls: readonly string[]): Promise<Line[]> {
  const folder = mkdtempSync(join(tmpdir(), 'looseleaf-queue-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const log = join(folder, 'log')
  writeFileSync(log, '')
  const program = await bundleOf(new URL('./queue-worker.ts', import.meta.url))
  const env = { ...process.env, SHARDS: JSON.stringify(urls), LOG: log }
  const running = new Set<ChildProcess>()
  let ending = false
  const start = (): void => {
    const child = fork(program, { env, execArgv: ['--conditions=@looseleaf/source'], stdio: 'inherit' })
    running.add(child)
    child.once('exit', () => {
      running.delete(child)
      if (!ending) start()
    })
  }
  for (let i = 0; i < WORKERS; i++) start()
  onTestFinished(() => {
    ending = true
    for (const child of running) child.kill('SIGKILL')
  })
  const linesOf = (): Line[] =>
    readFileSync(log, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Line)
  for (let kill = 1; kill <= KILLS; kill++) {
    // Each kill comes some jobs after the one before, whatever the speed of the machine.
    const begun = (): number => linesOf().filter(({ step }) => step === 'begin').length
    await vi.waitUntil(() => begun() >= kill * 15, { timeout: 120_000, interval: 5 })
    const [victim] = running
    victim!.kill('SIGKILL')
  }
  await vi.waitUntil(async () => (await queue.size()) === 0, { timeout: 120_000, interval: 100 })
  ending = true
  await Promise.all(
    Array.from(running, (child) => {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      return ended
    }),
  )
  return linesOf()
}

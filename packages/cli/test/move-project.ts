import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineIndex } from '@looseleaf/index-engine'
import { DataStore, type MoveReport } from '@looseleaf/store'
import { leapingTime } from '@looseleaf-tooling/kit/times'
import { expect, vi, type TestContext } from 'vitest'
import { shardsFrom } from '../src/config/shards-from.ts'
import {
  projectFolder,
  runInside,
  startCommand,
  type Finished,
  type Running,
  type RunOptions,
} from './run-command.ts'

const SHARDS = 'sqlite:data?shards=2'
/** Half of the buckets of shard 0. */
export const BUCKETS = '0-1023'
const PLAN = { from: 0, to: 1, buckets: BUCKETS }
/** Entities of a new project. Each has one index row. */
export const ENTITIES = 300
export const byName = defineIndex('by_name', { properties: { name: 'string' }, shardOn: 'name' })

/** A store of two SQLite files, whose time leaps over the waits of moves. Commands wait in earnest. */
export interface MoveProject {
  /** The folder of the config; the files of the shards are in its folder `data`. */
  readonly cwd: string
  readonly store: DataStore
  /** Runs a command in this process. */
  run(line: string, options?: RunOptions): Promise<Finished>
  /** Starts a command in a process of its own. */
  start(line: string): Running
  /** Begins the move of half of the buckets of shard 0, and stops it when it enters a step. Returns its number. */
  stoppedMove(step: MoveReport['state']): Promise<number>
  /** Returns the move that is not over; undefined if there is none. */
  openMove(): Promise<MoveReport | undefined>
  /** Waits until a move has saved its first progress in this step. */
  moveIn(step: MoveReport['state']): Promise<MoveReport>
  /** Ends the lease of a dead process, as time does. */
  endLease(move: number): Promise<void>
  /** Expects every entity in scans and in the index. */
  expectAll(): Promise<void>
}

export async function moveProject({ onTestFinished }: TestContext): Promise<MoveProject> {
  const cwd = projectFolder(onTestFinished)
  writeFileSync(join(cwd, 'looseleaf.config.js'), `export default { shards: '${SHARDS}' }`)
  const store = await DataStore.open({
    shards: shardsFrom(SHARDS, { relativeTo: cwd, create: true }),
    indexes: [byName],
    migrate: true,
    queryTimeMs: 10,
    time: leapingTime(),
  })
  onTestFinished(() => store.close())
  await store.putMany(Array.from({ length: ENTITIES }, (_, n) => ({ name: `name ${n % 10}`, n })))

  async function openMove(): Promise<MoveReport | undefined> {
    return (await store.shards.moves())[0]
  }

  return {
    cwd,
    store,
    run: (line, options) => runInside(line.split(' '), { cwd, ...options }),
    start: (line) => startCommand(line.split(' '), { cwd }),
    openMove,
    moveIn: (step) =>
      vi.waitFor(
        async () => {
          const move = await openMove()
          expect(move).toMatchObject({ state: step })
          expect(move!.counts.read).toBeGreaterThan(0)
          return move!
        },
        { timeout: 30_000, interval: 50 },
      ),
    async stoppedMove(step) {
      const stop = new AbortController()
      const moving = store.shards.move(PLAN, {
        signal: stop.signal,
        onProgress: (progress) => progress.step === step && stop.abort(),
      })
      await expect(moving).rejects.toMatchObject({ code: 'ABORTED' })
      const move = (await openMove()) as MoveReport
      expect(move).toMatchObject({ state: step, holder: undefined })
      return move.id
    },
    async endLease(move) {
      const { tasks } = store.context.driver.shards[PLAN.to]!
      const { owner, progress } = (await tasks.load(`move/${move}`))!
      await tasks.save(`move/${move}`, owner!, progress, 0)
    },
    async expectAll() {
      const found = new Set<unknown>()
      for await (const { n } of store.scan()) found.add(n)
      expect(found.size).toBe(ENTITIES)
      expect(await store.count(byName, { name: 'name 1' })).toBe(ENTITIES / 10)
    },
  }
}

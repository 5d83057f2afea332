import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sweep } from '@looseleaf/cleaner'
import { createRandom } from '@looseleaf-tooling/kit/random'
import { checkIndexes } from '../lab/check-indexes.ts'
import type { Cluster } from '../lab/cluster.ts'
import { openStore } from '../lab/open-store.ts'
import { createProcesses } from '../lab/processes.ts'
import { handOverIndexes, type HandOverConfig, type HandOverRecord } from './records.ts'

export interface KillsOptions {
  readonly cluster: Cluster
  readonly times: number
  readonly seed: number
  readonly onEvent?: ((text: string) => void) | undefined
}

export interface KillsRun {
  /** Movers that died right after a hand-over, and writers that were killed then. */
  readonly movers: number
  readonly writers: number
  readonly acknowledged: number
  readonly wrongs: readonly string[]
}

const CALLERS = 8
const ENTITIES = 12
/** Groups of a move after which its mover may die. */
const GROUPS = 4
const LIMIT_MS = 60_000

/** Kills the mover right after a hand-over, and mostly the writer too, again and again. Repairs after each kill, and judges at the end. */
export async function runKills({ cluster, times, seed, onEvent }: KillsOptions): Promise<KillsRun> {
  const random = createRandom(seed)
  const folder = await mkdtemp(join(tmpdir(), 'looseleaf-kills-'))
  const { urls, drop } = await cluster.createDatabase()
  const store = await openStore(urls, { indexes: handOverIndexes, migrate: true })
  const ids = Array.from({ length: CALLERS }, () => Array.from({ length: ENTITIES }, () => store.newId()))
  const config: HandOverConfig = { role: 'write', urls, ids, turn: 1, from: 0, to: 1 }
  const processes = await createProcesses<HandOverConfig, HandOverRecord>(
    new URL('./worker.ts', import.meta.url),
    folder,
    config,
  )
  const wrongs: string[] = []
  let movers = 0
  let writers = 0
  let turn = 1
  try {
    let writer = processes.start()
    await writer.written()
    for (let time = 0; time < times; time++) {
      const [from, to] = time % 2 === 0 ? [0, 1] : [1, 0]
      const death = { group: 1 + random.below(GROUPS), delayMs: random.pick([0, 0, 1, 3, 10]) }
      const killsWriter = random.chance(0.7)
      onEvent?.(`move ${time + 1}: ${JSON.stringify(death)}${killsWriter ? ', and the writer' : ''}`)
      const mover = processes.start({ role: 'move', from, to, death })
      await mover.gone
      const { length } = await store.shards.moves()
      if (length === 0) wrongs.push(`Move ${time + 1} was not killed.`)
      movers += length
      if (killsWriter) {
        writers++
        writer.signal('SIGKILL')
        await writer.gone
        writer = processes.start({ turn: ++turn })
      }
      const repair = processes.start({ role: 'repair' })
      await repair.gone
      for (const { id, state } of await store.shards.moves())
        wrongs.push(`Move ${id} is ${state} after a repair.`)
      await writer.written()
    }
    writer.stop()
    const { histories, hanging } = await processes.end(LIMIT_MS)
    if (processes.all.some(({ hasFailed }) => hasFailed)) wrongs.push('A process ended with an error.')
    if (hanging > 0) wrongs.push(`${hanging} processes did not end.`)
    const records = histories.flatMap((history) => history.records)
    wrongs.push(...records.flatMap((record) => (record.kind === 'wrong' ? [record.message] : [])))
    wrongs.push(...(await judge(urls, records)))
    const acknowledged = records.filter(({ kind }) => kind === 'acknowledged').length
    return { movers, writers, acknowledged, wrongs }
  } finally {
    await processes.kill()
    await store.close()
    await drop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Compares every entity with its last acknowledged write, and with those that may have taken place since; and every index with the entities. */
async function judge(
  urls: readonly string[],
  records: readonly HandOverRecord[],
): Promise<readonly string[]> {
  await using store = await openStore([...urls], { indexes: handOverIndexes })
  const wrongs: string[] = []
  const last = new Map<string, number>()
  const begun = new Set<number>()
  for (const record of records) {
    if (record.kind === 'begun') begun.add(record.state)
    if (record.kind === 'acknowledged') last.set(record.id, Math.max(record.state, last.get(record.id) ?? 0))
  }
  const seen = new Set<string>()
  for await (const { id, state } of store.scan()) {
    if (seen.has(id)) wrongs.push(`${id} is there twice.`)
    seen.add(id)
    const isRight = typeof state === 'number' && state >= (last.get(id) ?? 0) && begun.has(state)
    if (!isRight) wrongs.push(`${id} has state ${String(state)}, and ${last.get(id)} was acknowledged.`)
  }
  for (const id of last.keys()) if (!seen.has(id)) wrongs.push(`${id} is lost.`)
  await sweep(store, { graceMs: 0 })
  const { missing, dangling, unclaimed } = await checkIndexes(store, handOverIndexes)
  if (missing + dangling + unclaimed > 0)
    wrongs.push(`The indexes have ${missing} missing, ${dangling} dangling and ${unclaimed} unclaimed rows.`)
  return wrongs
}

/** A process that writes its own entities, and reads those of all processes from replicas. */
import { setTimeout as sleep } from 'node:timers/promises'
import { isLooseleafError, type EntityId } from '@looseleaf/core'
import type { DataStore } from '@looseleaf/store'
import { runAsChild, type Child } from '../../lab/child.ts'
import { openStore } from '../../lab/open-store.ts'
import { moment } from '../../lab/records.ts'
import { createRandom, type Random } from '@looseleaf-tooling/kit/random'
import { byOwner, type ReplicasConfig, type ReplicasRecord } from './replicas-records.ts'

type Worker = Child<ReplicasConfig, ReplicasRecord>

const BOUNDS_MS = [300, 1_000, 4_000]
/** Staleness bound of reads with a token. */
const ANY_AGE_MS = 60_000
const REST_MS = 10

async function run(worker: Worker): Promise<void> {
  const { shards, seed, number, idsOf, readers } = worker.config
  const store = await openStore(shards, {
    connections: { deadlineMs: 5_000, connectTimeoutMs: 5_000, lockWaitSeconds: 2 },
    again: () => !worker.isStopping,
  })
  worker.ready()
  const random = createRandom(seed * 1_000 + number)
  const counts = { own: 0, others: 0 }
  const repeat = async (work: () => Promise<void>): Promise<void> => {
    while (!worker.isStopping) {
      try {
        await work()
      } catch (error) {
        if (!isLooseleafError(error)) throw error
        worker.recorder.write({ kind: 'error', code: error.code })
        await sleep(REST_MS)
      }
    }
  }
  const own = number - 1
  await Promise.all([
    repeat(writer(worker, store, own, random, counts)),
    ...Array.from({ length: readers }, () =>
      repeat(async () => {
        const kind = random.below(3)
        const owner = random.below(idsOf.length)
        if (kind === 0) await readByToken(worker, store, owner, counts)
        else await readWithin(worker, store, owner, random.pick(BOUNDS_MS), kind === 1)
        await sleep(REST_MS)
      }),
    ),
  ])
  const items = (lanes: readonly { readonly kind: string; readonly items: number }[]): number =>
    lanes
      .filter(({ kind }) => kind === 'read' || kind.startsWith('scan'))
      .reduce((sum, lane) => sum + lane.items, 0)
  const stats = store.stats().shards
  worker.recorder.write({
    kind: 'done',
    ...counts,
    toPrimaries: stats.reduce((sum, { lanes }) => sum + items(lanes), 0),
    toReplicas: stats.flatMap(({ replicas }) => replicas).reduce((sum, { lanes }) => sum + items(lanes), 0),
  })
  await store.close()
}

/** Writes the next state of an entity, reads it with a token, and leaves a token for other processes. */
function writer(
  worker: Worker,
  store: DataStore,
  owner: number,
  random: Random,
  counts: { own: number },
): () => Promise<void> {
  const ids = worker.config.idsOf[owner] ?? []
  const letter = ids.at(-1) as EntityId
  const known = new Map<string, number>()
  let n = worker.config.base
  return async () => {
    const id = random.pick(ids.slice(0, -1)) as EntityId
    n++
    await store.put({ owner, n, text: 'x'.repeat(random.below(200)) }, { id })
    worker.recorder.write({ kind: 'wrote', id, n, at: moment() })
    known.set(id, n)
    const after = store.sessionToken()
    const found = await store.get(id, { from: 'replica', maxStalenessMs: ANY_AGE_MS, after })
    counts.own++
    if (numberOf(found) < n) wrong(worker, `${id}: its own write ${n} was read as ${numberOf(found)}`)
    if (random.chance(0.2))
      await store.put({ token: after, known: Object.fromEntries(known) }, { id: letter })
    await sleep(REST_MS)
  }
}

/** Reads the entities that a token of another process covers. */
async function readByToken(
  worker: Worker,
  store: DataStore,
  owner: number,
  counts: { others: number },
): Promise<void> {
  const ids = worker.config.idsOf[owner] as readonly EntityId[]
  const letter = await store.get(ids.at(-1) as EntityId)
  if (letter === undefined) return
  const known = letter['known'] as Record<string, number>
  const options = { from: 'replica', maxStalenessMs: ANY_AGE_MS, after: String(letter['token']) } as const
  const entities = await store.getMany(ids.slice(0, -1), options)
  const page = await store.query(byOwner, { owner }, { ...options, limit: ids.length })
  counts.others += 2
  const rows = new Map(page.items.map((item): [string, number] => [item.id, Number(item.n)]))
  for (const [i, id] of ids.slice(0, -1).entries()) {
    const least = known[id] ?? 0
    const read = numberOf(entities[i])
    if (read < least) wrong(worker, `${id}: ${least}, which a token stands for, was read as ${read}`)
    const listed = rows.get(id) ?? 0
    if (page.cost.complete && listed < least)
      wrong(worker, `${id}: ${least}, which a token stands for, was listed as ${listed}`)
  }
}

/** Reads all entities of a process; the judge compares them later. */
async function readWithin(
  worker: Worker,
  store: DataStore,
  owner: number,
  bound: number,
  byIndex: boolean,
): Promise<void> {
  const ids = (worker.config.idsOf[owner] as readonly EntityId[]).slice(0, -1)
  const options = { from: 'replica', maxStalenessMs: bound } as const
  const began = moment()
  let found: (readonly [string, number])[]
  if (byIndex) {
    const page = await store.query(byOwner, { owner }, { ...options, limit: ids.length })
    if (!page.cost.complete) return
    const listed = new Map(page.items.map((item): [string, number] => [item.id, Number(item.n)]))
    found = ids.map((id) => [id, listed.get(id) ?? 0])
  } else {
    const entities = await store.getMany(ids, options)
    found = ids.map((id, i) => [id, numberOf(entities[i])])
  }
  worker.recorder.write({ kind: 'read', began, bound, found })
}

function numberOf(bag: Readonly<Record<string, unknown>> | undefined): number {
  return Number(bag?.['n'] ?? 0)
}

function wrong(worker: Worker, message: string): void {
  worker.recorder.write({ kind: 'wrong', message })
}

runAsChild<ReplicasConfig, ReplicasRecord>(
  run,
  () => false,
  (error) => ({ kind: 'wrong', message: `A process ended with ${String(error)}` }),
)

import { LooseleafError, type Shard } from '@looseleaf/core'
import type { EngineContext, PlacedCatalog } from '@looseleaf/index-engine/internal'
import { isMoving, isQuiet, type Looks } from '@looseleaf/protocol/internal'
import { NO_CHECK, type OwnerCheck } from '../../calls/shard-lanes.ts'
import { OwnerChanged } from './owner-changed.ts'

/*
 * 1. Owners of buckets change with the epoch of their shard, and no shard gets an epoch again.
 * 2. An answer is right if its shard owned the bucket when the statement ran. It did if it owned the bucket by the catalog with which the
 *    statement was sent, and owns it by a catalog that is read after the answer, without an arrival of the bucket in between.
 * 3. While no move of the shard is announced, no bucket changes its owner for some seconds after a look at the shard.
 */

/** Looks after one answer until the catalog in memory is as new as the shard's. */
const MAX_LOOKS = 5

/** The server of a shard: its primary, or one of its replicas. */
interface Server {
  readonly number: number
  readonly shard: Shard
  readonly isReplica?: boolean
}

type Send<Answers> = (ids: readonly Uint8Array[]) => Promise<Answers>

export function createOwnerCheck(
  { catalog, router }: Pick<EngineContext, 'catalog' | 'router'>,
  looksOfStore: Looks,
  { number, shard, isReplica = false }: Server,
): OwnerCheck {
  // Such a store never moves anything.
  if (router.buckets === undefined) return NO_CHECK

  const looks = looksOfStore.of(shard)

  const refused = (): Error =>
    isReplica
      ? new LooseleafError('SHARD_UNAVAILABLE', `${shard.name} has not the layout of its primary yet.`, {
          shard: shard.name,
        })
      : new OwnerChanged()

  const has = ({ placement }: PlacedCatalog, id: Uint8Array): boolean =>
    placement.shardOfId(id) === number && placement.isServed(id)

  function requireAll(known: PlacedCatalog, ids: readonly Uint8Array[]): void {
    for (let i = 0; i < ids.length; i++) if (!has(known, ids[i] as Uint8Array)) throw refused()
  }

  /** Returns a catalog that is as new as the shard's was after the answer. */
  async function after(before: PlacedCatalog): Promise<PlacedCatalog> {
    for (let count = 0; count < MAX_LOOKS; count++) {
      const { epoch } = await looks.next()
      if (epoch === before.epochs[number]) return before
      if (catalog.latest().epochs[number] !== epoch) await catalog.reload()
      const known = catalog.current()
      const knownEpoch = known.epochs[number] ?? 0
      // A greater one is of a change after the look, unless a failover has lost changes.
      if (knownEpoch === epoch || (knownEpoch > epoch && epoch > (before.epochs[number] ?? 0))) return known
      // The replica has not replayed the changes of its primary.
      if (isReplica) throw refused()
    }
    throw refused()
  }

  async function requireOwned(before: PlacedCatalog, ids: readonly Uint8Array[]): Promise<void> {
    if (!isMoving(before, number)) {
      // This look may have begun before the answer, so it takes no time of its own when the statement was sent together with it.
      await looks.soon()
      if (isQuiet(looks, before, number)) return
    }
    const known = await after(before)
    if (known === before) return
    requireAll(known, ids)
    for (const id of ids)
      if (known.placement.arrivalOfId(id) !== before.placement.arrivalOfId(id)) throw refused()
  }

  /** Checks by the catalog of the moment when the statement is sent. Throws before that if the server has lost one of the ids. */
  function begin(ids: readonly Uint8Array[]): PlacedCatalog {
    // By an older copy of the catalog the server may have lost a bucket since; by this one it has it when the statement is sent.
    const before = catalog.latest()
    // Until the first move, the owners are the same by every copy of the catalog.
    if (before.layout?.moves !== undefined) requireAll(before, ids)
    return before
  }

  async function askReplica<Answers>(ids: readonly Uint8Array[], send: Send<Answers>): Promise<Answers> {
    // A replica may be behind the catalog of this process.
    const { epochs } = catalog.latest()
    if (looks.last?.epoch !== epochs[number]) {
      const { epoch } = await looks.soon()
      if (epoch !== epochs[number]) throw refused()
    }
    const before = begin(ids)
    const answers = await send(ids)
    if (!isQuiet(looks, before, number)) await requireOwned(before, ids)
    return answers
  }

  return {
    // No async function, because each promise of a statement is measurable.
    ask(ids, send) {
      if (looks.last === undefined || looks.last.isDue()) looks.begin()
      if (isReplica) return askReplica(ids, send)
      const before = begin(ids)
      return send(ids).then((answers) =>
        isQuiet(looks, before, number) ? answers : requireOwned(before, ids).then(() => answers),
      )
    },
  }
}

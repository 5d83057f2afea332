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
  const isHere = (id: Uint8Array): boolean => catalog.latest().placement.shardOfId(id) === number
  const isAlone = catalog.latest().placement.rows.shards.length === 1
  // Such a store never moves anything.
  if (router.buckets === undefined) {
    const askFound: OwnerCheck['askFound'] = async (send) => ({
      answer: await send(),
      isOwned: isHere,
      ownsAll: true,
    })
    return { ...NO_CHECK, askFound, isHere, isAlone }
  }

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

  /** Returns a catalog that is as new as the shard's was after the answer; undefined if none was found. */
  async function after(before: PlacedCatalog): Promise<PlacedCatalog | undefined> {
    for (let count = 0; count < MAX_LOOKS; count++) {
      const { epoch } = await looks.next()
      if (epoch === before.epochs[number]) return before
      if (catalog.latest().epochs[number] !== epoch) await catalog.reload()
      const known = catalog.current()
      const knownEpoch = known.epochs[number] ?? 0
      // A greater one is of a change after the look, unless a failover has lost changes.
      if (knownEpoch === epoch || (knownEpoch > epoch && epoch > (before.epochs[number] ?? 0))) return known
      // The replica has not replayed the changes of its primary.
      if (isReplica) return undefined
    }
    return undefined
  }

  /** Returns a test whether the shard had an entity of `before` when it answered; undefined if it had all of them. */
  async function lostSince(before: PlacedCatalog): Promise<((id: Uint8Array) => boolean) | undefined> {
    if (!isMoving(before, number)) {
      // This look may have begun before the answer, so it takes no time of its own when the statement was sent together with it.
      await looks.soon()
      if (isQuiet(looks, before, number)) return undefined
    }
    const known = await after(before)
    if (known === before) return undefined
    if (known === undefined) return () => true
    return (id) => !has(known, id) || known.placement.arrivalOfId(id) !== before.placement.arrivalOfId(id)
  }

  async function requireOwned(before: PlacedCatalog, ids: readonly Uint8Array[]): Promise<void> {
    const isLost = await lostSince(before)
    if (isLost !== undefined && ids.some(isLost)) throw refused()
  }

  /** Checks by the catalog of the moment when the statement is sent. Throws before that if the server has lost one of the ids. */
  function begin(ids: readonly Uint8Array[]): PlacedCatalog {
    // By an older copy of the catalog the server may have lost a bucket since; by this one it has it when the statement is sent.
    const before = catalog.latest()
    // Until the first move, the owners are the same by every copy of the catalog.
    if (before.layout?.moves !== undefined) requireAll(before, ids)
    return before
  }

  /** Tells whether a replica has the catalog of this process. It may be behind it. */
  async function hasCaughtUp(): Promise<boolean> {
    const { epochs } = catalog.latest()
    return looks.last?.epoch === epochs[number] || (await looks.soon()).epoch === epochs[number]
  }

  async function askReplica<Answers>(ids: readonly Uint8Array[], send: Send<Answers>): Promise<Answers> {
    if (!(await hasCaughtUp())) throw refused()
    const before = begin(ids)
    const answers = await send(ids)
    if (!isQuiet(looks, before, number)) await requireOwned(before, ids)
    return answers
  }

  function beginLook(): void {
    if (looks.last === undefined || looks.last.isDue()) looks.begin()
  }

  return {
    isHere,
    isAlone,
    // No async function, because each promise of a statement is measurable.
    ask(ids, send) {
      beginLook()
      if (isReplica) return askReplica(ids, send)
      const before = begin(ids)
      return send(ids).then((answers) =>
        isQuiet(looks, before, number) ? answers : requireOwned(before, ids).then(() => answers),
      )
    },
    async askFound(send) {
      beginLook()
      if (isReplica && !(await hasCaughtUp()))
        return { answer: await send(), isOwned: () => false, ownsAll: false }
      const before = catalog.latest()
      const answer = await send()
      const isLost = isQuiet(looks, before, number) ? undefined : await lostSince(before)
      return {
        answer,
        isOwned: (id) => has(before, id) && (isLost === undefined || !isLost(id)),
        // Before the first move no shard has entities of another one.
        ownsAll: before.layout?.moves === undefined && isLost === undefined,
      }
    },
  }
}

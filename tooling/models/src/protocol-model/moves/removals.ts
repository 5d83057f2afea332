import type { Event } from '../explore.ts'
import type {
  CatalogShard,
  Change,
  Contents,
  RemovalGuards,
  RemovalMemory,
  RemovalProcess,
  RemovalStep,
  RemovalWorld,
} from './removal-world.ts'

/** Puts contents on a shard that still has this epoch. The commit is visible, and may not be on disk. */
function swap(
  world: RemovalWorld,
  shard: CatalogShard,
  epoch: number,
  contents: Omit<Contents, 'at'> & { at?: number },
): boolean {
  if (shard.epoch !== epoch) return false
  world.clock++
  shard.epoch = world.clock
  shard.contents = { at: contents.at ?? world.clock, has: contents.has }
  return true
}

const flush = (shard: CatalogShard): void =>
  void (shard.disk = { epoch: shard.epoch, contents: shard.contents })

/** The server of a shard restarts with the state of its disk. */
export function crashOf(number: number): Event<RemovalWorld> {
  return {
    label: `shard ${number} crashes`,
    possible: ({ shards }) => shards[number]!.epoch !== shards[number]!.disk.epoch,
    happen({ shards }) {
      const shard = shards[number]!
      Object.assign(shard, shard.disk)
      shard.restarts++
    },
  }
}

const isRemoval = (contents: Contents | undefined): boolean => contents?.has.includes('removal') === true

/** The contents with the greatest epoch. */
function latestOf(known: RemovalMemory['known']): { contents: Contents; number: number } {
  const found = known.flatMap((catalog, number) => (catalog === null ? [] : [{ ...catalog, number }]))
  return found.reduce((a, b) => (b.contents.at > a.contents.at ? b : a))
}

/** Reads the catalog of one shard after the other. */
function readsCatalogs(shards: number, what: string, guards: RemovalGuards): RemovalStep[] {
  return [
    ...Array.from({ length: shards }, (_, number): RemovalStep => ({
      label: `reads catalog ${number} ${what}`,
      run(world, local) {
        if (number === 0) local.known = []
        const { epoch, contents } = world.shards[number]!
        local.known.push(number === 0 && local.leavesOut ? null : { epoch, contents })
      },
    })),
    {
      label: `leaves a removed shard out ${what}`,
      run({ shards: now }, local) {
        const { contents } = latestOf(local.known)
        if (local.leavesOut || !isRemoval(contents)) return undefined
        const taker = local.known.findIndex((each, at) => at > 0 && each?.contents.at === contents.at)
        if (taker === -1 && guards.removedCountsUntilTaken) return undefined
        if (taker !== -1 && guards.leavesOutFromDisk) {
          const shard = now[taker]!
          flush(shard)
          if (shard.epoch !== local.known[taker]!.epoch) return { goto: `reads catalog 0 ${what}` }
        }
        local.leavesOut = true
        local.known[0] = null
        return undefined
      },
    },
  ]
}

/** Reads all catalogs, and lets the leading shard take over the last contents. */
function readsLeading(shards: number, what: string, guards: RemovalGuards): RemovalStep[] {
  const first = `reads catalog 0 ${what}`
  return [
    ...readsCatalogs(shards, what, guards),
    {
      label: `looks for the leading catalog ${what}`,
      run(world, local) {
        const latest = latestOf(local.known)
        local.from = isRemoval(latest.contents) ? 1 : 0
        local.source = latest.contents
        const leading = local.known[local.from]
        if (!leading) {
          world.isLost = true
          return 'end'
        }
        if (leading.contents.at === latest.contents.at) return { goto: `has the leading catalog ${what}` }
        local.changed = latest.number
        return undefined
      },
    },
    {
      label: `flushes the shard with the last contents ${what}`,
      run(world, local) {
        const shard = world.shards[local.changed]!
        if (!guards.takesOverFromDisk) return undefined
        flush(shard)
        return shard.epoch === local.known[local.changed]!.epoch ? undefined : { goto: first }
      },
    },
    {
      label: `takes the last contents over ${what}`,
      run(world, local) {
        const { epoch } = local.known[local.from]!
        swap(world, world.shards[local.from]!, epoch, local.source!)
        return { goto: first }
      },
    },
    { label: `has the leading catalog ${what}`, run: () => undefined },
  ]
}

/** Makes a change of the catalog on all shards, as a process that may have been told of nothing. */
export function changer(change: Change, shards: number, guards: RemovalGuards): RemovalProcess {
  const again = { goto: 'reads catalog 0 for the change' }
  const holds = (contents: Contents): boolean => contents.has.includes(change)
  const isRefused = ({ has }: Contents, local: RemovalMemory): boolean => {
    if (change === 'move to shard 0') return has.includes('removal')
    if (change !== 'removal') return false
    return guards.looksInTheChange ? has.includes('move to shard 0') : local.sawMove
  }
  return [
    {
      label: 'looks for moves',
      run: ({ shards: [leading] }, local) =>
        void (local.sawMove = leading!.contents.has.includes('move to shard 0')),
    },
    ...readsLeading(shards, 'for the change', guards),
    {
      label: 'changes the leading catalog',
      run(world, local) {
        const shard = world.shards[local.from]!
        const source = local.source!
        local.least = 0
        // Another process has made the change.
        if (holds(source)) return { goto: 'reads catalog 0 for copies' }
        if (isRefused(source, local)) return 'end'
        const has = [...source.has, change].toSorted()
        const { epoch } = local.known[local.from]!
        if (!swap(world, shard, epoch, { has })) return again
        local.changed = local.from
        local.restarts = shard.restarts
        local.least = world.clock
        return undefined
      },
    },
    {
      label: 'has the answer',
      run(world, local) {
        const shard = world.shards[local.changed]!
        // The connection was lost, so the caller gets an unknown outcome.
        if (shard.restarts !== local.restarts) return 'end'
        flush(shard)
        return undefined
      },
    },
    ...readsLeading(shards, 'for copies', guards),
    ...Array.from({ length: shards }, (_, number): RemovalStep => ({
      label: `copies the catalog to shard ${number}`,
      run(world, local) {
        const shard = world.shards[number]!
        const source = local.source!
        if (number === 0 && local.leavesOut) return undefined
        if (number !== local.from && shard.contents.at < source.at) swap(world, shard, shard.epoch, source)
        return undefined
      },
    })),
    ...Array.from({ length: shards }, (_, number): RemovalStep => ({
      label: `flushes shard ${number}`,
      run(world, local) {
        if (guards.flushesCopies && !(number === 0 && local.leavesOut)) flush(world.shards[number]!)
        return undefined
      },
    })),
    ...readsCatalogs(shards, 'to the end', guards),
    {
      label: 'tells its caller',
      run(world, local) {
        const known = local.known.filter((catalog) => catalog !== null)
        const least = Math.max(local.least, local.source!.at)
        const isHeld = ({ contents }: { readonly contents: Contents }): boolean =>
          contents.at >= least && holds(contents)
        if (!known.every(isHeld)) return again
        world.told.push(change)
        return undefined
      },
    },
  ]
}

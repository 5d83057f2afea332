import { noFillMemory } from './filling-world.ts'
import type { FillGuards, FillMemory, FillProcess, FillWorld, Row } from './filling-world.ts'

/** Place of a copy by shard. Both places were used before, so a reading may have passed them. */
const COPIES = [1, 2] as const

/** Moves the bucket to shard 1, back to shard 0, and so on. */
export function bucketMover(moves: number): FillProcess {
  const ends = ({ shards }: FillWorld, { moves: done }: FillMemory) =>
    [shards[done % 2]!, shards[(done + 1) % 2]!] as const
  return [
    {
      label: 'copies the entity',
      run(world, local) {
        if (local.moves === moves) return 'end'
        const [, to] = ends(world, local)
        to.row = COPIES[(local.moves + 1) % 2]!
        return undefined
      },
    },
    { label: 'gives the bucket up', run: (world, local) => void (ends(world, local)[0].arrival = null) },
    {
      label: 'begins at the target',
      run: (world, local) => void (ends(world, local)[1].arrival = local.moves + 1),
    },
    {
      label: 'empties the source',
      run(world, local) {
        ends(world, local)[0].row = 0
        local.moves++
        return { goto: 'copies the entity' }
      },
    },
  ]
}

/** Fills the index part by part, in this order of the shards. Several workers may have one part, as if no lease protected it. */
export function filler(order: readonly (0 | 1)[], guards: FillGuards): FillProcess {
  const hasKept = ({ shards }: FillWorld, { shard, known }: FillMemory): boolean => {
    const { arrival } = shards[shard]
    return guards.arrivalsAreCompared ? arrival === known : (arrival === null) === (known === null)
  }
  const save = ({ parts }: FillWorld, { shard, part }: FillMemory): void => void (parts[shard] = { ...part })
  const begin = (local: FillMemory, shard: 0 | 1): void =>
    void Object.assign(local, noFillMemory(), { shard })

  return [
    {
      label: 'looks at the parts',
      run(world, local) {
        const next = order.find((shard) => !world.parts[shard].isPast)
        if (next !== undefined) {
          begin(local, next)
          local.part = { ...world.parts[next] }
          return undefined
        }
        if (!guards.unreadAreRead || world.parts.some(({ hasRead }) => hasRead))
          return { goto: 'says that the index is ready' }
        const owner = order.find((shard) => world.shards[shard].arrival !== null)
        if (owner === undefined) return 'blocked'
        begin(local, owner)
        const place = guards.readsFromArrival ? ((COPIES[owner] - 1) as Row) : world.parts[owner].place
        const isAlways = world.shards[owner].arrival === 0
        const { hasRead } = world.parts[owner]
        const { arrival: note } = world.shards[owner]
        local.part = { isPast: false, place: isAlways ? 0 : place, note, hasRead }
        return undefined
      },
    },
    {
      label: 'looks at the shard',
      run({ shards }, local) {
        const { part, shard } = local
        local.known = shards[shard].arrival
        if (part.note === undefined) part.note = guards.notesFirst ? local.known : 0
        else if (guards.arrivalsAreCompared ? part.note !== local.known : local.known === null)
          part.note = null
      },
    },
    {
      label: 'reads the next place',
      run({ shards }, local) {
        const { part, shard } = local
        if (part.place === 2) return { goto: 'looks at the shard again' }
        part.place++
        local.found = shards[shard].row === part.place
        return undefined
      },
    },
    {
      label: 'looks at the shard after the page',
      run(world, local) {
        const { part } = local
        if (guards.notesFirst && guards.looksAtEnd && !hasKept(world, local)) part.note = null
        local.found &&= part.note !== null
      },
    },
    {
      label: 'writes the row of the entity',
      run(world, local) {
        if (local.found) world.hasIndexRow = true
        local.found = false
      },
    },
    {
      label: 'saves the part',
      run(world, local) {
        save(world, local)
        if (!guards.notesAreSaved) delete world.parts[local.shard].note
        return { goto: 'reads the next place' }
      },
    },
    {
      label: 'looks at the shard again',
      run(world, local) {
        const { part, shard } = local
        const isOwned = guards.notesFirst ? hasKept(world, local) : world.shards[shard].arrival !== null
        const isRead = part.note !== null && (!guards.looksAtEnd || isOwned)
        part.isPast = true
        part.hasRead ||= isRead
        delete part.note
      },
    },
    {
      label: 'saves the part at its end',
      run(world, local) {
        save(world, local)
        return { goto: 'looks at the parts' }
      },
    },
    {
      label: 'says that the index is ready',
      run: (world) => void (world.isReady = true),
    },
  ]
}

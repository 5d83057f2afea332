import type { Event, Step, StepResult } from '../explore.ts'
import { commit, crash, flushTo, markOf, newServer, visible, type Mark, type Server } from '../server.ts'

export type Item = 0 | 1

interface BatchEntity {
  readonly version: number
  /** Callers whose write the entity has had. */
  readonly done: readonly number[]
}

type Packets = Record<string, Packet>

/** The transaction of one attempt, on its way or on the server. */
interface Packet {
  readonly version: number
  readonly bases: readonly [number, number]
  state: 'sent' | 'first swapped' | 'swapped' | 'visible' | 'answered' | 'refused' | 'gone'
  /** Items whose swap took place. */
  won: readonly Item[]
}

/** Two entities of one bucket on a server that shows commits before they are on disk. */
export interface BatchWorld {
  server: Server<{ readonly entities: readonly [BatchEntity, BatchEntity] }>
  /** Packet that holds the lock of each entity; null for none. */
  readonly locks: [string | null, string | null]
  readonly packets: Packets
  /** Callers whose connection is lost. */
  cut: readonly number[]
  /** Answers of the calls: their kind and version. */
  readonly told: Record<number, { readonly kind: 'done' | 'refused' | 'unknown'; readonly version: number }>
  /** Whether the row of the first content of entity 0 exists, on another shard. */
  hasFarRow: boolean
  /** Whether a failover may lose commits, and whether the replica has all of them. */
  readonly isLossy: boolean
  isReplicated: boolean
  wrong: string | undefined
}

export interface BatchMemory {
  bases: readonly [number, number]
  versions: readonly number[]
  isUnknown: boolean
  version: number
  mark: Mark | undefined
}

/** Guards of batches and of writes whose answer is lost. The tests turn each off to show what breaks. */
export interface BatchGuards {
  /** A swap that changes nothing is an error, which ends the transaction. */
  readonly allOrNothing: boolean
  /** Entities are locked in the order of their ids. */
  readonly oneLockOrder: boolean
  /** Every item compares its version, so that a late packet cannot follow another attempt. */
  readonly everyItemCompares: boolean
  /** Reading back looks for the versions of all attempts of the call. */
  readonly attemptsAreRemembered: boolean
  /** If an earlier attempt is unknown, a lost swap of the next one says nothing before the versions are read back. */
  readonly conflictsAreReadBack: boolean
  /** An item that the batch only holds at its version proves nothing: a commit leaves it as it is. */
  readonly heldItemsProveNothing: boolean
  /** A call that gives up while a packet of it may be on the way rejects as unknown. */
  readonly nothingIsDenied: boolean
  /** A flushed commit follows the reading before it is told. */
  readonly flushesFirst: boolean
  /** The versions are read again after the flush, because the server may have crashed in between. */
  readonly readsAgain: boolean
  /** A cleaner deletes a far row when the commit that it has seen is on disk. */
  readonly farRowsWaitForDisk: boolean
  /** If failovers lose commits, far rows stay. */
  readonly farRowsWaitForReplicas: boolean
}

export const allBatchGuards: BatchGuards = {
  allOrNothing: true,
  oneLockOrder: true,
  everyItemCompares: true,
  attemptsAreRemembered: true,
  conflictsAreReadBack: true,
  heldItemsProveNothing: true,
  nothingIsDenied: true,
  flushesFirst: true,
  readsAgain: true,
  farRowsWaitForDisk: true,
  farRowsWaitForReplicas: true,
}

export type BatchStep = Step<BatchWorld, BatchMemory>
export type BatchProcess = readonly BatchStep[]

const FIRST: BatchEntity = { version: 10, done: [] }

export function batchWorld(isLossy = false): BatchWorld {
  return {
    server: newServer({ entities: [FIRST, FIRST] }),
    locks: [null, null],
    packets: {},
    cut: [],
    told: {},
    hasFarRow: true,
    isLossy,
    isReplicated: false,
    wrong: undefined,
  }
}

export function noBatchMemory(): BatchMemory {
  return { bases: [0, 0], versions: [], isUnknown: false, version: 0, mark: undefined }
}

const entitiesOf = ({ server }: BatchWorld): readonly [BatchEntity, BatchEntity] => visible(server).entities
const nameOf = (caller: number, attempt: number): string => `${caller}.${attempt}`

/** Returns a broken promise of the calls that write these items. */
export function brokenBatch(world: BatchWorld, calls: readonly (readonly Item[])[]): string | undefined {
  if (world.wrong !== undefined) return world.wrong
  const entities = entitiesOf(world)
  for (const [caller, items] of calls.entries()) {
    const done = items.filter((item) => entities[item].done.includes(caller))
    if (done.length > 0 && done.length < items.length) return `the batch of P${caller} took place in part`
    const told = world.told[caller]
    if (told?.kind === 'refused' && done.length > 0) return `P${caller} was refused, and its batch took place`
    const isGone = items.some((item) => entities[item].version < (told?.version ?? 0))
    if (told?.kind === 'done' && isGone && !world.isLossy)
      return `the batch of P${caller} was acknowledged and is gone`
  }
  return entities[0].done.length === 0 && !world.hasFarRow ? 'entity 0 lacks its far row' : undefined
}

/** One call that changes its items, all or none. It makes two attempts at the most. */
export function batchCaller(
  items: readonly Item[],
  guards: BatchGuards,
  { givesUp = false, held }: { readonly givesUp?: boolean; readonly held?: Item | undefined } = {},
): BatchProcess {
  function tell(
    world: BatchWorld,
    local: BatchMemory,
    process: number,
    kind: 'done' | 'refused' | 'unknown',
  ): StepResult {
    const entities = entitiesOf(world)
    if (kind === 'unknown' && items.some((item) => local.versions.includes(entities[item].version)))
      world.wrong = `P${process} was told that the outcome is unknown, and an item shows it`
    world.told[process] = { kind, version: local.version }
    return kind === 'done' ? { goto: 'deletes the far row' } : 'end'
  }
  const own = (world: BatchWorld, { versions }: BatchMemory): number | undefined => {
    const entities = entitiesOf(world)
    const known = guards.attemptsAreRemembered ? versions : versions.slice(-1)
    return known.find((version) => items.some((item) => entities[item].version === version))
  }
  return [
    {
      label: 'reads the entities',
      run(world, local) {
        const [first, second] = entitiesOf(world)
        local.bases = [first.version, second.version]
      },
    },
    {
      label: 'sends the packet',
      run(world, local, process) {
        const { bases, versions } = local
        const attempt = versions.length
        const version = (Math.floor(Math.max(...bases) / 10) + 1) * 10 + process * 2 + attempt
        local.versions = [...versions, version]
        world.packets[nameOf(process, attempt)] = { version, bases, state: 'sent', won: [] }
      },
    },
    {
      label: 'hears the answer',
      run(world, local, process) {
        const { state, version } = world.packets[nameOf(process, local.versions.length - 1)]!
        if (world.cut.includes(process) || state === 'gone') {
          world.cut = world.cut.filter((caller) => caller !== process)
          local.isUnknown = true
          return { goto: 'reads the versions back' }
        }
        if (state === 'answered') {
          local.version = version
          return tell(world, local, process, 'done')
        }
        if (state !== 'refused') return 'blocked'
        if (local.isUnknown && guards.conflictsAreReadBack) return { goto: 'reads the versions back' }
        return tell(world, local, process, 'refused')
      },
    },
    {
      label: 'reads the versions back',
      run(world, local, process) {
        const version = own(world, local)
        if (version !== undefined) {
          Object.assign(local, { version, mark: markOf(world.server) })
          return guards.flushesFirst ? { goto: 'has a commit flushed' } : tell(world, local, process, 'done')
        }
        const entities = entitiesOf(world)
        const atBase = items.filter((item) => entities[item].version === local.bases[item])
        if (atBase.length === items.length) {
          if (local.versions.length < 2 && !givesUp) return { goto: 'sends the packet' }
          return tell(world, local, process, guards.nothingIsDenied ? 'unknown' : 'refused')
        }
        // One item is at its base and another is beyond: no attempt took place, and none can any more.
        const proofs = atBase.filter((item) => item !== held || !guards.heldItemsProveNothing)
        return tell(world, local, process, proofs.length > 0 ? 'refused' : 'unknown')
      },
    },
    {
      label: 'has a commit flushed',
      // A flush begins after the reading, on the server as it is then.
      run: ({ server }) => void flushTo(server, markOf(server)),
    },
    {
      label: 'reads again',
      run(world, local, process) {
        if (guards.readsAgain && own(world, local) === undefined) return { goto: 'reads the versions back' }
        return tell(world, local, process, 'done')
      },
    },
    {
      label: 'deletes the far row',
      run(world) {
        const stays = world.isLossy && guards.farRowsWaitForReplicas && !world.isReplicated
        if (items.includes(0) && !stays) world.hasFarRow = false
        return 'end'
      },
    },
  ]
}

/** The server's side of one packet. */
export function packetThread(
  caller: number,
  attempt: number,
  items: readonly Item[],
  guards: BatchGuards,
  held?: Item,
): BatchProcess {
  const name = nameOf(caller, attempt)
  const order = guards.oneLockOrder ? items.toSorted() : items
  const free = ({ locks }: BatchWorld): void => {
    for (const item of [0, 1] as const) if (locks[item] === name) locks[item] = null
  }
  const swap = (world: BatchWorld, item: Item, from: Packet['state'], to: Packet['state']): StepResult => {
    const packet = world.packets[name]
    if (packet?.state === 'gone' || packet?.state === 'refused') return 'end'
    if (packet?.state !== from || world.locks[item] !== null) return 'blocked'
    const wins = entitiesOf(world)[item].version === packet.bases[item] || !guards.everyItemCompares
    if (!wins && guards.allOrNothing) {
      free(world)
      packet.state = 'refused'
      return 'end'
    }
    if (wins && item !== held) packet.won = [...packet.won, item]
    world.locks[item] = name
    packet.state = to
    return undefined
  }
  return [
    {
      label: 'swaps the first item',
      run: (world) => swap(world, order[0]!, 'sent', order.length === 1 ? 'swapped' : 'first swapped'),
    },
    ...(order.length === 1
      ? []
      : [
          {
            label: 'swaps the second item',
            run: (world: BatchWorld) => swap(world, order[1]!, 'first swapped', 'swapped'),
          },
        ]),
    {
      label: 'COMMIT',
      run(world, local) {
        const packet = world.packets[name]!
        if (packet.state !== 'swapped') return 'end'
        const { version, won } = packet
        const entities = entitiesOf(world)
        if (won.some((item) => entities[item].done.includes(caller)))
          world.wrong = `the batch of P${caller} took place twice`
        const [first, second] = entities.map((entity, item) =>
          won.includes(item as Item) ? { version, done: [...entity.done, caller] } : entity,
        )
        commit(world.server, { entities: [first!, second!] })
        packet.state = 'visible'
        local.mark = markOf(world.server)
        free(world)
        return undefined
      },
    },
    {
      label: 'the log is on disk',
      run(world, { mark }) {
        const packet = world.packets[name]!
        if (packet.state !== 'visible') return 'end'
        flushTo(world.server, mark!)
        packet.state = 'answered'
        return 'end'
      },
    },
  ]
}

/** Deletes the far row when it has seen the commit. */
export function farCleaner(guards: BatchGuards): BatchProcess {
  const isDone = (world: BatchWorld): boolean => entitiesOf(world)[0].done.length > 0
  return [
    {
      label: 'sees the commit',
      run: (world) =>
        isDone(world) ? (guards.farRowsWaitForDisk ? undefined : { goto: 'deletes the far row' }) : 'blocked',
    },
    { label: 'has a commit flushed', run: ({ server }) => void flushTo(server, markOf(server)) },
    { label: 'reads again', run: (world) => (isDone(world) ? undefined : { goto: 'sees the commit' }) },
    { label: 'deletes the far row', run: (world) => void (world.hasFarRow = false) },
  ]
}

/** The connection of a call is lost while its packet is on the way or on the server. */
export const connectionLost = (caller: number): Event<BatchWorld> => ({
  label: `P${caller} loses its connection`,
  possible: ({ packets, told }) => nameOf(caller, 0) in packets && !(caller in told),
  happen: (world) => void (world.cut = [...world.cut, caller]),
})

function restart(world: BatchWorld, lost: number): void {
  crash(world.server, lost)
  world.locks.fill(null)
  for (const packet of Object.values(world.packets))
    if (packet.state !== 'answered' && packet.state !== 'refused') packet.state = 'gone'
}

/** The server crashes, and comes back with what is on disk. */
export const serverCrash: Event<BatchWorld> = {
  label: 'the server crashes',
  possible: () => true,
  happen: (world) => restart(world, world.server.log.length - 1),
}

/** The replica gets all commits. */
export const replicated: Event<BatchWorld> = {
  label: 'the replica has all commits',
  possible: (world) => entitiesOf(world)[0].done.length > 0,
  happen: (world) => void (world.isReplicated = true),
}

/** A replica without any of the commits takes over. */
export const failover: Event<BatchWorld> = {
  label: 'a replica without the last commits takes over',
  possible: ({ isReplicated }) => !isReplicated,
  happen(world) {
    restart(world, 0)
    world.server = { ...newServer({ entities: [FIRST, FIRST] }), life: world.server.life }
  },
}

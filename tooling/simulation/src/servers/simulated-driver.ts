import { isLooseleafError, LooseleafError, type Driver, type Shard } from '@looseleaf/core'
import { interceptShard } from '@looseleaf/core/internal'
import type { Random } from '@looseleaf-tooling/kit/random'
import type { Disk } from './disk.ts'
import type { FaultKind, Faults } from '../faults/faults.ts'
import { UNCHANGED, unchangedTakes } from '../faults/flawed-driver.ts'
import { reach, type Life } from '../steps/life.ts'
import type { ReplicaServer } from './replicas.ts'
import { BELATED_STEPS, type Scheduler } from '../steps/scheduler.ts'

export interface Network {
  readonly scheduler: Scheduler
  readonly random: Random
  /** Returns the current faults. */
  faults(): Faults
  /** Returns the greatest delay of a statement whose sender no longer waits, in steps. */
  belatedSteps(): number
  /** Called for every fault. */
  count(kind: FaultKind): void
  /** Numbers of the shards that refuse all statements now. */
  readonly down: ReadonlySet<number>
  /** The disks of the shards. */
  readonly disks: readonly Disk[]
  /** Replicas of each shard, by shard number; none if omitted. */
  readonly replicas?: readonly (readonly ReplicaServer[])[] | undefined
}

/** A server as a process sees it. */
interface Target {
  /** Name of its shard. */
  readonly name: string
  /** Address in the scheduler. */
  readonly address: number
  /** Number of its shard. */
  readonly number: number
  readonly isDown: () => boolean
  /** Called when a statement arrives. */
  readonly reached: () => void
}

/** Statements whose outcome is unknown if the answer never arrives. */
const writes: ReadonlySet<string> = new Set([
  'insert',
  'replace',
  'writeAll',
  'raiseFloor',
  'repairVersion',
  'repairStamps',
  'raisePurged',
  'purge',
  'receive',
  'discard',
  'add',
  'upsert',
  'remove',
  'take',
  'swap',
  'claim',
  'claimAll',
  'save',
  'saveAll',
  'init',
  'change',
  'createTables',
  'createIndexTable',
  'dropIndexTable',
])

/** Statements that wait for the disk before they begin. */
const definitions: ReadonlySet<string> = new Set(['createTables', 'createIndexTable', 'dropIndexTable'])

/** Tells which answers of writes mean that nothing changed, so that the disk is not involved. */
const saysUnchanged: Readonly<Record<string, (answer: unknown) => boolean>> = {
  replace: (swapped) => (swapped as readonly boolean[]).every((won) => !won),
  writeAll: (outcome) => outcome !== 'written',
  // An upsert that changes nothing waits for earlier changes, unless flawed.
  upsert: (changed) => changed === UNCHANGED,
  remove: (removed) => removed === 0,
  purge: (purged) => purged === 0,
  discard: (discarded) => discarded === 0,
  // A take that changes nothing waits for earlier changes, unless flawed.
  take: (answer) => unchangedTakes.has(answer as object),
  swap: (swapped) => swapped === false,
  claim: (task) => task === undefined,
  save: (saved) => saved === false,
  init: (written) => written === false,
  change: (changed) => changed === false,
}

/** Probability that a caller gives up while the disk hangs. */
const GIVES_UP = 0.5

/** Returns the driver for one process: every call is a statement that passes a faulty network. */
export function simulatedDriver(driver: Driver, life: Life, network: Network): Driver {
  const { scheduler, random } = network

  function send<T>(target: Target, label: string, operation: string, run: () => Promise<T>): Promise<T> {
    const { address: shard, name } = target
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const say = `${life.name} ${label}`
    const isWrite = writes.has(operation)
    const fail = (error: unknown): void => reach(life, () => reject(error))
    const happens = (kind: FaultKind): boolean => {
      const does = random.chance(network.faults()[kind])
      if (does) network.count(kind)
      return does
    }
    const disk = network.disks[target.number] as Disk
    const runAndChange = (): Promise<T> => {
      const result = run()
      if (isWrite) disk.changed()
      return result
    }
    const begin = (it: () => void, cutOff: () => void = () => undefined): void =>
      definitions.has(operation) ? disk.whenFree(it, cutOff) : it()
    /** True once the shard has refused this commit because of a claim. It could take place later, but no program repeats a refused statement. */
    let wasRefusedKey = false
    const later = (how: string): void =>
      scheduler.add({
        label: `${how}: ${say}`,
        shard,
        writes: isWrite,
        belated: network.belatedSteps(),
        arrive() {
          if (!wasRefusedKey) begin(() => void runAndChange().catch(() => undefined))
        },
      })

    /** Most callers wait for the disk; some give up, but their statements still take place. */
    function giveUp(): void {
      if (!disk.hangs || !random.chance(GIVES_UP)) return
      const arrive = (): void => {
        scheduler.note(`  ${say}: given up`)
        fail(lost(isWrite, label, name))
      }
      scheduler.add({ label: `deadline: ${say}`, shard, writes: false, belated: BELATED_STEPS, arrive })
    }

    function answer(value: T): void {
      const done = (): void => reach(life, () => resolve(value))
      if (operation !== 'flush' && (!isWrite || saysUnchanged[operation]?.(value) === true)) return done()
      disk.whenWritten(done, () => fail(lost(isWrite, label, name)))
      giveUp()
    }

    scheduler.add({
      label: say,
      shard,
      life,
      writes: isWrite,
      cut() {
        scheduler.note(`  ${say}: cut off`)
        fail(lost(isWrite, label, name))
      },
      arrive() {
        if (!life.alive && random.chance(0.5)) return
        if (target.isDown() || happens('errorBefore')) {
          scheduler.note(`  ${say}: refused`)
          return fail(unavailable(label, name))
        }
        if (happens('late')) {
          scheduler.note(`  ${say}: answer lost, on its way`)
          if (random.chance(0.7)) later('late')
          return fail(lost(isWrite, label, name))
        }
        if (isWrite && happens('duplicate')) later('again')
        target.reached()
        const isLost = happens('errorAfter')
        if (isLost) scheduler.note(`  ${say}: done, answer lost`)
        begin(
          () =>
            void runAndChange().then(
              (value) => (isLost ? fail(lost(isWrite, label, name)) : answer(value)),
              (error: unknown) => {
                wasRefusedKey = !isLost && isLooseleafError(error, 'DUPLICATE_KEY')
                fail(isLost ? lost(isWrite, label, name) : error)
              },
            ),
          () => fail(lost(isWrite, label, name)),
        )
      },
    })
    return promise
  }

  function over(shard: Shard, target: Target): Shard {
    return interceptShard(shard, ({ table, operation }, run) =>
      send(target, `${table}.${operation} on ${target.address}`, operation, run),
    )
  }

  /** The connections of a process end with the server; a new server gets new ones. */
  function overReplica(server: ReplicaServer, number: number): Shard {
    const { shard, address } = server
    let opened = 0
    let start = 0
    const target: Target = {
      name: shard.name,
      address,
      number,
      isDown: () => server.isDown,
      reached() {
        if (server.starts !== start) opened++
        start = server.starts
        server.show()
      },
    }
    const state = { open: 1, idle: 1, limit: 1, waiting: 0, refusal: undefined }
    return {
      ...over(shard, target),
      connections: () => ({ ...state, opened }),
    }
  }

  const created = new Map<Shard, Shard>()
  const overPrimary = (shard: Shard): Shard => {
    const known = created.get(shard)
    if (known !== undefined) return known
    const made = simulated(shard, created.size)
    created.set(shard, made)
    return made
  }
  const simulated = (shard: Shard, number: number): Shard => {
    const isDown = (): boolean => network.down.has(number)
    const own = over(shard, { name: shard.name, address: number, number, isDown, reached: () => undefined })
    const replicas = network.replicas?.[number] ?? []
    if (replicas.length === 0) return own
    return { ...own, replicas: replicas.map((server) => overReplica(server, number)) }
  }
  return {
    shards: driver.shards.map(overPrimary),
    ...(driver.shardAt && { shardAt: (address: string | object) => overPrimary(driver.shardAt!(address)) }),
    close: async () => {},
  }
}

function unavailable(label: string, shard: string): LooseleafError {
  return new LooseleafError('SHARD_UNAVAILABLE', `${label}: the shard is not there.`, { shard })
}

function lost(isWrite: boolean, label: string, shard: string): LooseleafError {
  const code = isWrite ? 'OUTCOME_UNKNOWN' : 'SHARD_UNAVAILABLE'
  return new LooseleafError(code, `${label}: the answer was lost.`, { shard })
}

import type { Random } from '@looseleaf-tooling/kit/random'
import type { FaultKind } from '../faults/faults.ts'
import { wake, type Life } from '../steps/life.ts'
import type { Scheduler, Statement } from '../steps/scheduler.ts'
import type { World } from '../world/world.ts'

/** Faults of the world as a whole. */
export interface Weather {
  /** Call when a statement has arrived at its shard. */
  arrived(statement: Statement): void
  /** Call before every step. */
  pass(): void
  /** Wakes frozen processes and lets disks continue. Returns false if there was nothing to do. */
  wakeAll(): boolean
}

export interface WeatherOptions {
  readonly world: World
  readonly scheduler: Scheduler
  readonly random: Random
  /** Returns the current processes. */
  lives(): readonly Life[]
  /** Tells whether a process is a mover. */
  isMover(life: Life): boolean
  crash(life: Life): void
  /** Called after a shard has failed over. */
  failedOver(): void
  /** Called after the server of a shard has crashed. */
  serverCrashed(): void
}

/** Upper bound, because a process that keeps crashing would never finish its work. */
const MAX_CRASHES = { usual: 5, duringMoves: 10 }
const MAX_FAILOVERS = { entities: 5, everything: 2 }
const MAX_SERVER_CRASHES = { usual: 6, duringMoves: 15 }
/**
 * Probability per step that a hanging disk continues, after a short or a long while; and that it writes a
 * part.
 */
const DISK_GOES_ON = [0.02, 0.003]
const DISK_ADVANCES = 0.02
/** Steps of other processes during which a process is frozen. */
const PAUSE_STEPS = [15, 60, 250, 1500]
/**
 * Milliseconds by which the clock advances during a freeze: beyond grace and leases of cleaners, and leases
 * of administrators.
 */
const LEAPS = [0, 0, 60, 300, 1500, 4000, 61_000]

/** The factor by which faults are more frequent while buckets are handed over, which takes few steps. */
const WHILE_HANDING_OVER = 6
/** The factor by which a disk hangs more often right after a statement of a mover. */
const HANGS_BEHIND_MOVERS = 10
/** Upper bound, because a mover whose disks hang again and again would never finish its work. */
const MAX_HANGS_BEHIND_MOVERS = 40
/** The factor by which a crash is more frequent where a mover has seen changes that are not on disk. */
const CRASHES_BEHIND_MOVERS = 5

interface Pause {
  readonly life: Life
  remainingSteps: number
  /** Step before the end at which the clock leaps. */
  readonly leapAt: number
  readonly leap: number
}

export function createWeather(options: WeatherOptions): Weather {
  const { world, scheduler, random } = options
  const shards = world.driver.shards.length
  const length = world.movers > 0 ? 'duringMoves' : 'usual'
  let pauses: Pause[] = []
  /** Shard at which a statement of a mover has just arrived. */
  let visited: number | undefined
  /** Shards at which statements of movers have arrived while the disk hung. Movers may rely on changes that a crash undoes. */
  const reliedOn = new Set<number>()

  const strikes = (kind: FaultKind, factor = 1): boolean =>
    random.chance(world.faults[kind] * factor * (world.isHandingOver() ? WHILE_HANDING_OVER : 1))

  function moveShards(): void {
    if (strikes('shardDown')) {
      const shard = random.below(shards)
      if (world.down.delete(shard)) return scheduler.note(`-- shard ${shard} is back`)
      world.down.add(shard)
      world.happened.shardDown++
      scheduler.note(`-- shard ${shard} is down`)
    } else if (world.down.size > 0 && random.chance(0.05)) world.down.clear()
  }

  function failOver(): void {
    if (world.happened.failover >= MAX_FAILOVERS[world.failoverOf] || !strikes('failover')) return
    const shard = random.below(shards)
    const past = world.pasts[shard]
    // A replica that lags by the whole delay, by the fastest clock, is beyond the promise.
    const lagMs = world.deleteDelayMs - world.maxSkewMs - 1
    if (!past?.fallBack(scheduler.now(), lagMs, world.failoverOf, random)) return
    world.happened.failover++
    scheduler.note(`-- shard ${shard} fails over and has lost its last commits`)
    world.replicas.failedOver(shard)
    options.failedOver()
    scheduler.cut(shard)
  }

  function moveDisks(): void {
    for (const [shard, disk] of world.disks.entries()) {
      if (!disk.hangs) {
        reliedOn.delete(shard)
        continue
      }
      if (random.chance(random.pick(DISK_GOES_ON))) {
        scheduler.note(`-- the disk of shard ${shard} goes on`)
        disk.goOn()
      } else if (random.chance(DISK_ADVANCES)) disk.advance()
    }
    const at = world.happened.diskHangs < MAX_HANGS_BEHIND_MOVERS ? visited : undefined
    visited = undefined
    if (at !== undefined && strikes('diskHangs', HANGS_BEHIND_MOVERS)) hang(at)
    else if (strikes('diskHangs')) hang(random.below(shards))
  }

  function hang(shard: number): void {
    if (world.disks[shard]?.hangs !== false) return
    world.happened.diskHangs++
    scheduler.note(`-- the disk of shard ${shard} hangs`)
    world.disks[shard]?.hang()
  }

  function crashServer(): void {
    if (world.happened.serverCrash >= MAX_SERVER_CRASHES[length]) return
    const hanging = world.disks.findIndex(({ hangs }) => hangs)
    for (const shard of reliedOn) if (strikes('serverCrash', CRASHES_BEHIND_MOVERS)) return crashOne(shard)
    // A crash undoes more while a disk hangs.
    if (strikes('serverCrash'))
      crashOne(hanging !== -1 && random.chance(0.8) ? hanging : random.below(shards))
  }

  function crashOne(shard: number): void {
    reliedOn.delete(shard)
    const gone = world.disks[shard]?.crash() ?? 0
    world.happened.serverCrash++
    scheduler.note(`-- the server of shard ${shard} crashes and has lost its last ${gone} changes`)
    options.serverCrashed()
    scheduler.cut(shard)
  }

  function crash(): void {
    if (world.happened.crash >= MAX_CRASHES[length] || !strikes('crash')) return
    const life = random.pick(options.lives())
    if (!life.alive) return
    world.happened.crash++
    scheduler.note(`-- ${life.name} stops dead`)
    options.crash(life)
  }

  function pause(): void {
    if (!strikes('pause')) return
    const life = random.pick(options.lives())
    if (!life.alive || life.frozen) return
    const remainingSteps = 1 + random.below(random.pick(PAUSE_STEPS))
    pauses.push({
      life,
      remainingSteps,
      leapAt: random.below(remainingSteps),
      leap: random.below(1 + random.pick(LEAPS)),
    })
    world.happened.pause++
    scheduler.note(`-- ${life.name} freezes`)
    scheduler.freeze(life)
  }

  function wakeUp({ life }: Pause): void {
    if (life.alive) scheduler.note(`-- ${life.name} wakes`)
    scheduler.thaw(life)
    wake(life)
  }

  function goOnWithPauses(): void {
    for (const each of pauses) {
      each.remainingSteps--
      if (each.remainingSteps === each.leapAt && each.leap > 0) {
        scheduler.leap(each.leap)
        scheduler.note(`-- ${each.leap} ms go by`)
      }
      if (each.remainingSteps <= 0) wakeUp(each)
    }
    pauses = pauses.filter(({ remainingSteps }) => remainingSteps > 0)
  }

  return {
    arrived({ shard, life }) {
      if (life === undefined || !options.isMover(life) || shard >= shards) return
      visited = shard
      if (world.disks[shard]!.hangs) reliedOn.add(shard)
    },
    pass() {
      moveShards()
      failOver()
      world.replicas.pass()
      world.cache?.pass()
      moveDisks()
      crashServer()
      crash()
      pause()
      goOnWithPauses()
    },
    wakeAll() {
      const sleeping = pauses
      pauses = []
      sleeping.forEach(wakeUp)
      const hanging = world.disks.filter(({ hangs }) => hangs)
      for (const disk of hanging) disk.goOn()
      return sleeping.length + hanging.length > 0
    },
  }
}

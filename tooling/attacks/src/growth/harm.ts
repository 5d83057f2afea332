import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '@looseleaf-tooling/kit/random'
import type { Cluster } from '../lab/cluster.ts'
import { moment } from '../lab/records.ts'
import type { Crew, Member } from './crew.ts'
import type { Outage } from './judge.ts'

export type HarmCounts = Readonly<Record<string, number>>

export interface HarmOptions {
  readonly cluster: Cluster
  readonly crew: Crew
  readonly random: Random
  /** The moves in progress. */
  readonly moves: () => readonly { readonly from: number; readonly to: number }[]
  readonly isActive: boolean
  readonly onEvent: (text: string) => void
}

export interface Harm {
  stop(): Promise<{ readonly counts: HarmCounts; readonly outages: readonly Outage[] }>
}

const kinds = [
  'kill a mover',
  'kill a mover',
  'stop a mover',
  'kill a writer',
  'stop a writer',
  'kill the follower',
  'kill a reader, a consumer or the cleaner',
  'kill a source',
  'kill a target',
  'kill an unrelated server',
  'stop a source',
  'stop a target',
] as const
type Kind = (typeof kinds)[number]

/** Longest pause of a process: more than its lease. */
const LONGEST_STOP_MS = 6_000
const LONGEST_OUTAGE_MS = 3_000
/** Least pause between two faults. */
const PAUSE_MS = 3_000
const UNDO_CHANCE = 0.2

/** Kills and stops processes and servers, one after the other, until it is stopped. Every server runs again then. */
export function startHarm({ cluster, crew, random, moves, isActive, onEvent }: HarmOptions): Harm {
  const counts: Record<string, number> = {}
  const outages: Outage[] = []
  let isStopping = false

  async function server(role: Kind, harm: (number: number) => Promise<void>): Promise<boolean> {
    const numbers = serversFor(role, moves(), cluster.shards.length)
    if (numbers.length === 0) return false
    const number = random.pick(numbers)
    onEvent(`${role}: ${number}`)
    const from = moment()
    await harm(number)
    outages.push({ server: number, from, to: moment() })
    return true
  }

  async function kill(number: number): Promise<void> {
    const shard = cluster.shards[number]!
    await shard.kill()
    await sleep(random.below(LONGEST_OUTAGE_MS))
    await shard.restart()
  }

  async function freeze(number: number): Promise<void> {
    const shard = cluster.shards[number]!
    shard.freeze()
    await sleep(300 + random.below(LONGEST_STOP_MS))
    shard.thaw()
  }

  async function stop(member: Member): Promise<void> {
    member.process.signal('SIGSTOP')
    await sleep(300 + random.below(LONGEST_STOP_MS))
    member.process.signal('SIGCONT')
  }

  async function process(
    kind: Kind,
    members: readonly Member[],
    harm: (member: Member) => Promise<void>,
  ): Promise<boolean> {
    if (members.length === 0) return false
    const member = random.pick(members)
    onEvent(`${kind}: ${member.role}`)
    await harm(member)
    return true
  }

  const replace = (member: Member): Promise<void> => crew.replace(member)

  async function killMover(member: Member): Promise<void> {
    await crew.replace(member)
    if (random.chance(UNDO_CHANCE)) await crew.move({ role: 'undo' })
  }

  function cause(kind: Kind): Promise<boolean> {
    switch (kind) {
      case 'kill a mover':
        return process(kind, crew.movers(), killMover)
      case 'stop a mover':
        return process(kind, crew.movers(), stop)
      case 'kill a writer':
        return process(kind, crew.living('write'), replace)
      case 'stop a writer':
        return process(kind, crew.living('write'), stop)
      case 'kill the follower':
        return process(kind, crew.living('follow'), replace)
      case 'kill a reader, a consumer or the cleaner':
        return process(kind, crew.living('read', 'consume', 'clean'), replace)
      case 'kill a source':
      case 'kill a target':
      case 'kill an unrelated server':
        return server(kind, kill)
      case 'stop a source':
      case 'stop a target':
        return server(kind, freeze)
    }
  }

  const harming = (async () => {
    while (isActive && !isStopping) {
      await sleep(PAUSE_MS + random.below(2 * PAUSE_MS))
      const kind = random.pick(kinds)
      if (await cause(kind)) counts[kind] = (counts[kind] ?? 0) + 1
    }
  })()

  return {
    async stop() {
      isStopping = true
      await harming
      return { counts, outages }
    },
  }
}

/** Returns the servers that are sources or targets of moves in progress, or none of both. */
function serversFor(kind: Kind, moves: ReturnType<HarmOptions['moves']>, all: number): readonly number[] {
  if (kind.endsWith('source')) return moves.map(({ from }) => from)
  if (kind.endsWith('target')) return moves.map(({ to }) => to)
  const moving = new Set(moves.flatMap(({ from, to }) => [from, to]))
  return Array.from({ length: all }, (_, number) => number).filter((number) => !moving.has(number))
}

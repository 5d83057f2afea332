import { setTimeout as sleep } from 'node:timers/promises'
import { formatId, LooseleafError, platformTime } from '@looseleaf/core'
import type { Doing } from '../acts/acts.ts'
import { timeText } from '../text.ts'
import type { Refuse, ShardCall, ShardFaults } from './shard-faults.ts'

/** How long a shard is stopped, and how long a fault waits for its write, in milliseconds. */
export const BROKEN_MS = 60_000

/** For `ms`, or until somebody ends that or the console is closed, a shard fails as one does whose server is down. */
export async function stopShard(
  { refusals }: ShardFaults,
  shard: string,
  ms: number,
  { signal, tell, came }: Doing,
): Promise<void> {
  const until = timeText(new Date(platformTime.now() + ms))
  const refuse: Refuse = (call) =>
    call.shard === shard ? unavailable(shard, `is stopped on purpose until ${until}.`) : undefined
  refusals.add(refuse)
  tell(`it answers again at ${until}`)
  // Being ended early or closed is an end like another one.
  await sleep(ms, undefined, { signal, ref: false }).catch(() => {})
  refusals.delete(refuse)
  came('Ended; it answers again.')
}

/** Where a write dies: its index rows are there before its commit, and those that it loses are deleted after it. */
export type Death = 'before its commit' | 'after its commit'

export const deaths: readonly Death[] = ['before its commit', 'after its commit']

/** The next write dies, as far as its shards can see, with those whose statement it shares. Rejects where there was none for `ms`. */
export async function dieAtNextWrite(
  { refusals }: ShardFaults,
  death: Death,
  ms: number,
  { signal, tell, came }: Doing,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const refuse = death === 'before its commit' ? loseCommit(resolve) : loseRemovals(resolve)
  refusals.add(refuse)
  tell('it waits for a write')
  try {
    const died = await Promise.race([
      promise,
      sleep(ms, undefined, { signal, ref: false })
        .catch(() => {})
        .then(() => {
          throw new Error(
            signal.aborted
              ? 'It was called off.'
              : death === 'before its commit'
                ? 'There was no write.'
                : 'There was no write that took a row out of an index.',
          )
        }),
    ])
    came(died)
  } finally {
    refusals.delete(refuse)
  }
}

const isCommit = ({ table, operation }: ShardCall): boolean =>
  table === 'entities' && (operation === 'insert' || operation === 'replace')

/** Tables of other indexes lose nothing either for so many milliseconds: their deletes go out together. */
const TOGETHER_MS = 200

/** Is told what has died, a sentence. */
type Died = (what: string) => void

function loseCommit(died: Died): Refuse {
  let isDone = false
  return (call) => {
    if (isDone || !isCommit(call)) return undefined
    isDone = true
    const written = call.args[0] as readonly { id: Uint8Array }[]
    died(
      `${namesOf(written.map(({ id }) => id))} was not committed on ${call.shard}; its index rows are there.`,
    )
    return unavailable(call.shard, 'lost this commit on purpose.')
  }
}

/** Entities that are remembered as replaced, until one of them loses a row. */
const MOST_REPLACED = 10_000

/** What the first entities lose that are replaced from now on and lose a row stays where it is: each table is asked in vain once. */
function loseRemovals(died: Died): Refuse {
  const replaced = new Set<string>()
  let victims: ReadonlySet<string> | undefined
  const left = new Set<string>()
  const textOf = (id: Uint8Array): string => Buffer.from(id).toString('hex')
  return (call) => {
    if (isCommit(call) && call.operation === 'replace' && victims === undefined) {
      for (const { id } of call.args[0] as readonly { id: Uint8Array }[]) replaced.add(textOf(id))
      // The earliest first: its rows are gone by now, or never were.
      for (const id of replaced) if (replaced.size > MOST_REPLACED) replaced.delete(id)
    }
    if (call.operation !== 'remove') return undefined
    const rows = call.args[0] as readonly { entityId: Uint8Array }[]
    const among = victims ?? replaced
    const losing = rows.map(({ entityId }) => textOf(entityId)).filter((id) => among.has(id))
    if (losing.length === 0) return undefined
    victims ??= new Set(losing)
    left.add(`${call.table} on ${call.shard}`)
    const ids = rows.map(({ entityId }) => entityId).filter((id) => victims?.has(textOf(id)))
    platformTime
      .setTimeout(
        () =>
          died(`${namesOf(ids)} was committed; what it has lost still stands in ${[...left].join(', ')}.`),
        TOGETHER_MS,
      )
      .unref()
    return unavailable(call.shard, 'lost this removal on purpose.')
  }
}

/** Of the first entity, and a word about others that died with it. */
function namesOf(ids: readonly Uint8Array[]): string {
  const [first, ...others] = new Set(ids.map((id) => formatId(id)))
  return `Entity ${first}${others.length > 0 ? ` (and ${others.length} more)` : ''}`
}

function unavailable(shard: string, what: string): LooseleafError {
  return new LooseleafError('SHARD_UNAVAILABLE', `The shard ${shard} ${what}`, { shard })
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { ActContext } from '@looseleaf/console'
import { timeText } from '@looseleaf/console/kit'
import { formatId, LooseleafError } from 'looseleaf'
import type { Refuse, ShardCall, ShardFaults } from './shard-faults.ts'

/** Milliseconds for which a shard is stopped, and for which a fault waits for a write. */
export const BROKEN_MS = 60_000

/** Rejects all calls to a shard for `ms`, as if its server were down. Aborting the signal brings the shard back early. */
export async function stopShard(
  { refusals }: ShardFaults,
  shard: string,
  ms: number,
  { signal, showProgress, setOutcome }: ActContext,
): Promise<void> {
  const until = timeText(new Date(Date.now() + ms))
  const refuse: Refuse = (call) =>
    call.shard === shard ? unavailable(shard, `is stopped on purpose until ${until}.`) : undefined
  refusals.add(refuse)
  showProgress(`it answers again at ${until}`)
  // An early end is not an error.
  await sleep(ms, undefined, { signal, ref: false }).catch(() => {})
  refusals.delete(refuse)
  setOutcome('Ended; it answers again.')
}

/** Step at which a write is killed: after its new index rows and before its commit, or before it deletes its lost rows. */
export type CrashPoint = 'before its commit' | 'after its commit'

export const crashPoints: readonly CrashPoint[] = ['before its commit', 'after its commit']

/** Kills the next write, together with writes that share its statement. Rejects if there is no such write within `ms`. */
export async function killNextWrite(
  { refusals }: ShardFaults,
  crashPoint: CrashPoint,
  ms: number,
  { signal, showProgress, setOutcome }: ActContext,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const refuse = crashPoint === 'before its commit' ? loseCommit(resolve) : loseRemovals(resolve)
  refusals.add(refuse)
  showProgress('it waits for a write')
  try {
    const outcome = await Promise.race([
      promise,
      sleep(ms, undefined, { signal, ref: false })
        .catch(() => {})
        .then(() => {
          throw new Error(
            signal.aborted
              ? 'It was cancelled.'
              : crashPoint === 'before its commit'
                ? 'There was no write.'
                : 'There was no write that removed an index row.',
          )
        }),
    ])
    setOutcome(outcome)
  } finally {
    refusals.delete(refuse)
  }
}

const isCommit = ({ table, operation }: ShardCall): boolean =>
  table === 'entities' && (operation === 'insert' || operation === 'replace')

/** Milliseconds for which deletes from further index tables are rejected too. A write sends all its deletes together. */
const TOGETHER_MS = 200

/** Receives a sentence about the killed write. */
type OnKilled = (outcome: string) => void

function loseCommit(onKilled: OnKilled): Refuse {
  let isDone = false
  return (call) => {
    if (isDone || !isCommit(call)) return undefined
    isDone = true
    const written = call.args[0] as readonly { id: Uint8Array }[]
    onKilled(
      `${namesOf(written.map(({ id }) => id))} was not committed on ${call.shard}; its index rows on other shards were written.`,
    )
    return unavailable(call.shard, 'lost this commit on purpose.')
  }
}

/** Largest number of remembered replaced entities. */
const MAX_REPLACED = 10_000

/** Rejects the deletes of the first replaced entities that lose index rows, once per table. */
function loseRemovals(onKilled: OnKilled): Refuse {
  const replaced = new Set<string>()
  let victims: ReadonlySet<string> | undefined
  const keptIn = new Set<string>()
  const textOf = (id: Uint8Array): string => Buffer.from(id).toString('hex')
  return (call) => {
    if (isCommit(call) && call.operation === 'replace' && victims === undefined) {
      for (const { id } of call.args[0] as readonly { id: Uint8Array }[]) replaced.add(textOf(id))
      // Forgets the earliest first: its lost rows are deleted by now, if it had any.
      for (const id of replaced) if (replaced.size > MAX_REPLACED) replaced.delete(id)
    }
    if (call.operation !== 'remove') return undefined
    const rows = call.args[0] as readonly { entityId: Uint8Array }[]
    const candidates = victims ?? replaced
    const losing = rows.map(({ entityId }) => textOf(entityId)).filter((id) => candidates.has(id))
    if (losing.length === 0) return undefined
    victims ??= new Set(losing)
    keptIn.add(`${call.table} on ${call.shard}`)
    const ids = rows.map(({ entityId }) => entityId).filter((id) => victims?.has(textOf(id)))
    setTimeout(
      () => onKilled(`${namesOf(ids)} was committed; its lost rows are still in ${[...keptIn].join(', ')}.`),
      TOGETHER_MS,
    ).unref()
    return unavailable(call.shard, 'lost this removal on purpose.')
  }
}

/** Returns the id of the first entity, and the number of the others. */
function namesOf(ids: readonly Uint8Array[]): string {
  const [first, ...others] = new Set(ids.map((id) => formatId(id)))
  return `Entity ${first}${others.length > 0 ? ` (and ${others.length} more)` : ''}`
}

function unavailable(shard: string, predicate: string): LooseleafError {
  return new LooseleafError('SHARD_UNAVAILABLE', `The shard ${shard} ${predicate}`, { shard })
}

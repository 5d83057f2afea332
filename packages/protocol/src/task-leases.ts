import type { CallOptions, LooseleafError, Time } from '@looseleaf/core'
import { elapsedBy, type TaskTable } from '@looseleaf/core/internal'

/*
 * Leases that end with a short piece of work. The task table judges every lease by the clock of its database, and bounds its length, because
 * clocks may be set. A lease that lasts for a process (of a tail, of parts, of partitions) belongs to the owner of its progress instead:
 * each save of the progress renews it, and tells whether another process has taken the task.
 */

export interface EditOptions extends CallOptions {
  /** Unique name of the worker. Claims of one owner are idempotent. */
  readonly owner: string
  /** Milliseconds that other workers wait for one that dies during the edit. Default: 5,000. */
  readonly leaseMs?: number | undefined
}

const EDIT_LEASE_MS = 5_000

/**
 * Replaces the text of a task under a lease, which ends with the edit. Returns false, without a change, if another worker holds the task
 * or takes it during the edit. An error of the edit ends the lease too, and leaves the text as it is.
 */
export async function editTask(
  tasks: TaskTable,
  task: string,
  edit: (text: string) => string,
  { owner, leaseMs = EDIT_LEASE_MS, signal }: EditOptions,
): Promise<boolean> {
  const state = await tasks.claim(task, owner, leaseMs, { signal })
  if (state === undefined) return false
  const text = await orRelease(
    () => edit(state.progress),
    () => tasks.save(task, owner, state.progress, 0),
  )
  return tasks.save(task, owner, text, 0, { signal })
}

/** As `editTask`, for several tasks in few statements. Returns the edited tasks. */
export async function editTasks(
  tasks: TaskTable,
  names: readonly string[],
  edit: (text: string, task: string) => string,
  { owner, leaseMs = EDIT_LEASE_MS, signal }: EditOptions,
): Promise<ReadonlySet<string>> {
  const states = await tasks.claimAll(names, owner, leaseMs, { signal })
  const textsBy = (textOf: typeof edit): ReadonlyMap<string, string> =>
    new Map(Array.from(states, ([task, { progress }]) => [task, textOf(progress, task)]))
  const former = textsBy((text) => text)
  const texts = await orRelease(
    () => textsBy(edit),
    () => tasks.saveAll(former, owner, 0),
  )
  return tasks.saveAll(texts, owner, 0, { signal })
}

/** Returns the result of an edit. If it throws, releases its tasks first. A lease that cannot be ended expires. */
async function orRelease<T>(edit: () => T, release: () => Promise<unknown>): Promise<T> {
  try {
    return edit()
  } catch (error) {
    await release().catch(() => undefined)
    throw error
  }
}

export interface Patience {
  readonly time: Time
  /** Milliseconds between two attempts. */
  readonly everyMs: number
  /** Milliseconds for all attempts. Default: no limit. */
  readonly forMs?: number | undefined
  /** Returns the error after that time. */
  readonly busy?: (() => LooseleafError) | undefined
  readonly signal: AbortSignal | undefined
}

/** Repeats an attempt while it resolves to false, because other workers hold its tasks. */
export async function untilFree(
  attempt: () => Promise<boolean>,
  { time, everyMs, forMs = Infinity, busy, signal }: Patience,
): Promise<void> {
  const elapsed = elapsedBy(time)
  const until = elapsed() + forMs
  while (!(await attempt())) {
    if (busy !== undefined && elapsed() >= until) throw busy()
    await time.sleep(everyMs, signal)
  }
}

/** A task that an owner has claimed, or may have claimed. */
export interface HeldTask {
  readonly tasks: TaskTable
  readonly task: string
  readonly owner: string
}

/** Saves the text of a task and ends its lease, if the owner has it. Never rejects: a lease that cannot be ended expires. */
export async function releaseLease({ tasks, task, owner }: HeldTask, text: string): Promise<void> {
  await tasks.save(task, owner, text, 0).catch(() => undefined)
}

/** Does work under a lease, then saves the text of the task and ends the lease. A lease that cannot be ended expires: the outcome of the work counts. */
export async function underLease<T>(held: HeldTask, work: () => Promise<T>, text: () => string): Promise<T> {
  try {
    return await work()
  } finally {
    await releaseLease(held, text())
  }
}

import { join } from 'node:path'
import { createProcesses, type Process } from '../lab/processes.ts'
import type { PlannedMove } from '@looseleaf/store'
import type { GrowthConfig, GrowthRecord, Role } from './records.ts'

export interface Member {
  readonly role: Role
  readonly part: number
  readonly process: Process
  readonly job: Job | undefined
}

/** Job of a mover. */
export type Job =
  | { readonly role: 'move'; readonly plan: PlannedMove }
  | { readonly role: 'drain'; readonly shard: number }
  | { readonly role: 'repair' | 'undo' }

/** Records of one process. */
export interface History {
  readonly role: Role
  readonly records: readonly GrowthRecord[]
}

/** The processes of a growth run. */
export interface Crew {
  /** Starts writers, readers, a follower, a cleaner and the processes of a consumer; resolves when the first states are written. */
  begin(readers: number, consumers: number): Promise<void>
  /** Living processes of these roles. */
  living(...roles: readonly Role[]): readonly Member[]
  /** Kills a process, and starts another one in its place, unless it is a mover. */
  replace(member: Member): Promise<void>
  /** Starts a mover, unless one has the same job. */
  move(job: Job): Promise<void>
  movers(): readonly Member[]
  end(limitMs: number): Promise<{ readonly histories: readonly History[]; readonly hanging: number }>
  kill(): Promise<void>
}

/** Roles of processes that work until the end. */
const lasting: ReadonlySet<Role> = new Set(['write', 'read', 'follow', 'consume', 'clean'])

export async function createCrew(folder: string, common: GrowthConfig): Promise<Crew> {
  const processes = await createProcesses<GrowthConfig, GrowthRecord>(
    new URL('./worker.ts', import.meta.url),
    folder,
    common,
  )
  const members: Member[] = []
  /** Histories of the writers of each part. */
  const files = new Map<number, string[]>()

  async function start(role: Role, part = 0, job?: Job): Promise<void> {
    const file = join(folder, `process-${members.length + 1}.jsonl`)
    const earlier = role === 'write' ? (files.get(part) ?? []) : []
    if (role === 'write') files.set(part, [...earlier, file])
    const process = processes.start({ role, part, earlier, ...job })
    members.push({ role, part, process, job })
    // A process that is killed before it is ready has been replaced.
    await Promise.race([process.ready.catch(() => undefined), process.gone])
  }

  const living = (...roles: readonly Role[]): readonly Member[] =>
    members.filter(({ role, process }) => roles.includes(role) && !process.isGone)
  const movers = (): readonly Member[] => living('move', 'drain', 'repair', 'undo')

  return {
    living,
    async begin(readers, consumers) {
      await Promise.all(Array.from({ length: common.writers }, (_, part) => start('write', part)))
      await Promise.all([
        ...Array.from({ length: readers }, () => start('read')),
        ...Array.from({ length: consumers }, () => start('consume')),
        start('follow'),
        start('clean'),
      ])
    },
    async replace({ role, part, process }) {
      process.signal('SIGKILL')
      await process.gone
      if (lasting.has(role)) await start(role, part)
    },
    async move(job) {
      const text = JSON.stringify(job)
      if (movers().every((member) => JSON.stringify(member.job) !== text)) await start(job.role, 0, job)
    },
    movers,
    async end(limitMs) {
      for (const { process } of living('write', 'read', 'clean')) process.stop()
      await Promise.race([
        Promise.all(living('write', 'read', 'clean').map(({ process }) => process.gone)),
        new Promise((resolve) => setTimeout(resolve, limitMs).unref()),
      ])
      for (const { process } of living('follow', 'consume')) process.stop()
      const { histories, hanging } = await processes.end(limitMs)
      return {
        histories: histories.map(({ records }, i) => ({ role: members[i]!.role, records })),
        hanging,
      }
    },
    kill: () => processes.kill(),
  }
}

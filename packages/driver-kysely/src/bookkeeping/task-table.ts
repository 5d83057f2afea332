import type { CallOptions } from '@looseleaf/core'
import {
  chunks,
  MAX_LEASE_MS,
  type SaveAllOptions,
  type TaskState,
  type TaskTable,
} from '@looseleaf/core/internal'
import { sql, type RawBuilder } from 'kysely'
import type { Flavor } from '../database/flavor.ts'
import { toCount, toNumber, toText } from '../database/row-values.ts'
import { TASK_TABLE } from '../database/table-names.ts'
import { callsWith, type Row, type Session } from '../database/session.ts'
import { parameter, parameterList } from '../database/sql-parts.ts'
import { taskFaults } from './flush.ts'

const tasks = sql.table(TASK_TABLE)

const { reading, writing } = callsWith(taskFaults)

interface StoredTask {
  readonly name: string
  readonly progress: string
  /** The process that claimed the task last and has not released it. */
  readonly owner: string | undefined
  /** False once the lease has ended, and for a lease by a clock that was ahead. */
  readonly isHeld: boolean
}

/** Largest number of tasks of one statement. */
const MAX_NAMES = 100

/** A lease with more than this left was given by a clock that was ahead, in µs. */
const AHEAD_MICROS = 2 * MAX_LEASE_MS * 1_000

/** Creates core's `TaskTable`. Leases end by the database's clock, in µs since 1970, so clients need no common clock. */
export function createTaskTable(session: Session, flavor: Flavor): TaskTable {
  const now = flavor.nowMicros
  const holds = sql`lease_until > ${now} AND lease_until <= ${now} + ${sql.lit(AHEAD_MICROS)}`

  /** Parameters: names. */
  const load = (count: number): RawBuilder<unknown> => sql`
    SELECT name, progress, owner, ${holds} AS held FROM ${tasks} WHERE name IN (${parameterList(count)})`
  /** Parameters: owner, lease, names, owner. */
  const take = (count: number): RawBuilder<unknown> => sql`
    UPDATE ${flavor.updateSource(tasks, 'PRIMARY')} SET owner = ${parameter}, lease_until = ${now} + ${parameter}
    WHERE name IN (${parameterList(count)}) AND (owner = ${parameter} OR owner IS NULL OR NOT (${holds}))`
  /** A task that another process has just created stays unchanged. Parameters: name, owner and lease of each task. */
  const create = (count: number): RawBuilder<unknown> => {
    const row = sql`(${parameter}, '', ${parameter}, ${now} + ${parameter})`
    return sql`
      INSERT INTO ${tasks} (name, progress, owner, lease_until) VALUES ${sql.join(Array.from({ length: count }, () => row))}
      ${flavor.onDuplicate(['name'])} owner = ${sql.ref(`${TASK_TABLE}.owner`)}`
  }
  /** Parameters: name and progress of each task; the next owner, lease; names, owner. */
  const save = (count: number): RawBuilder<unknown> => {
    const each = Array.from({ length: count }, () => sql`WHEN ${parameter} THEN ${parameter}`)
    return sql`
      UPDATE ${flavor.updateSource(tasks, 'PRIMARY')} SET progress = CASE name ${sql.join(each, sql` `)} END, owner = ${parameter}, lease_until = ${now} + ${parameter}
      WHERE name IN (${parameterList(count)}) AND owner = ${parameter}`
  }
  const statements = { load, take, create, save }

  const run = async (
    kind: keyof typeof statements,
    count: number,
    parameters: readonly unknown[],
    options: CallOptions | undefined,
  ): Promise<{ readonly rows: readonly Row[]; readonly changed: number }> => {
    const call = kind === 'load' ? reading(options) : writing(options)
    const shape = session.shape(`task ${kind} ${count}`, () => statements[kind](count))
    const { rows, numAffectedRows } = await session.run(shape, parameters, call)
    return { rows, changed: toCount(numAffectedRows) }
  }

  async function read(
    names: readonly string[],
    options: CallOptions | undefined,
  ): Promise<readonly StoredTask[]> {
    const { rows } = await run('load', names.length, names, options)
    return rows.map((row) => ({
      name: toText(row.name),
      progress: toText(row.progress),
      owner: row.owner === null ? undefined : toText(row.owner),
      isHeld: row.owner !== null && toNumber(row.held) === 1,
    }))
  }

  async function claimSome(
    names: readonly string[],
    owner: string,
    leaseMs: number,
    options: CallOptions | undefined,
  ): Promise<readonly StoredTask[]> {
    const micros = leaseMs * 1000
    const { changed } = await run('take', names.length, [owner, micros, ...names, owner], options)
    let stored = await read(names, options)
    if (stored.length < names.length && changed < names.length) {
      const known = new Set(stored.map(({ name }) => name))
      const missing = names.filter((name) => !known.has(name))
      const rows = missing.flatMap<unknown>((name) => [name, owner, micros])
      await run('create', missing.length, rows, options)
      stored = await read(names, options)
    }
    // A lease that has ended since still counts: the task is its owner's until another process claims it.
    return stored.filter((task) => task.owner === owner)
  }

  async function saveSome(
    progress: ReadonlyMap<string, string>,
    owner: string,
    leaseMs: number,
    options: SaveAllOptions | undefined,
  ): Promise<readonly string[]> {
    const names = [...progress.keys()]
    const nextOwner = leaseMs === 0 ? undefined : (options?.nextOwner ?? owner)
    const parameters = [...[...progress].flat(), nextOwner ?? null, leaseMs * 1000, ...names, owner]
    const { changed } = await run('save', names.length, parameters, options)
    if (changed === names.length) return names
    if (changed === 0) return []
    const stored = await read(names, options)
    return stored
      .filter((task) => task.owner === nextOwner && task.progress === progress.get(task.name))
      .map(({ name }) => name)
  }

  const loadAll: TaskTable['loadAll'] = async (names, options) => {
    const parts = await Promise.all(inParts(names).map((part) => read(part, options)))
    return new Map(
      parts
        .flat()
        .map(({ name, progress, owner, isHeld }) => [name, { progress, owner: isHeld ? owner : undefined }]),
    )
  }

  const claimAll: TaskTable['claimAll'] = async (names, owner, leaseMs, options) => {
    const claimed = new Map<string, TaskState>()
    for (const part of inParts(names)) {
      for (const { name, progress } of await claimSome(part, owner, leaseMs, options))
        claimed.set(name, { progress, owner })
    }
    return claimed
  }

  const saveAll: TaskTable['saveAll'] = async (progress, owner, leaseMs, options) => {
    const saved = new Set<string>()
    for (const part of inParts([...progress.keys()])) {
      const progressOfPart = new Map(part.map((name) => [name, progress.get(name) as string]))
      for (const name of await saveSome(progressOfPart, owner, leaseMs, options)) saved.add(name)
    }
    return saved
  }

  return {
    loadAll,
    claimAll,
    saveAll,
    load: async (name, options) => (await loadAll([name], options)).get(name),
    claim: async (name, owner, leaseMs, options) =>
      (await claimAll([name], owner, leaseMs, options)).get(name),
    save: async (name, owner, progress, leaseMs, options) =>
      (await saveAll(new Map([[name, progress]]), owner, leaseMs, options)).has(name),
  }
}

/** Splits distinct names into one part per statement, sorted: statements that lock rows in the same order cannot deadlock. */
function inParts(names: readonly string[]): readonly (readonly string[])[] {
  return [...chunks([...new Set(names)].toSorted(), MAX_NAMES)]
}

import { spreadOf } from '../measure/statistics.ts'
import { workNames } from '../client/profile.ts'
import { partNames, type PartName } from '../parts/part-names.ts'
import { sides as allSides } from '../sides/all-sides.ts'
import { sideNames } from '../sides/side-names.ts'
import { counted, formatMaybe, formatNumber, formatRatio } from './numbers.ts'
import { ratioOf } from './ratios.ts'
import type { Measured, ResultRow, Results } from './results.ts'
import { titleOf } from './titles.ts'

/** Writes each table of `docs/performance.md`, by the name in its mark there. */
export const tables: Readonly<Record<string, (results: Results) => string>> = {
  machine: machineOf,
  runs: runsTable,
  'ratios with 64 callers': (results) => ratioTable(rowsOf(results, 'calls', 64)),
  'the limit beside peers': limitTable,
  'ratios with one caller': (results) => ratioTable(rowsOf(results, 'calls', 1)),
  'cpu with 64 callers': (results) => cpuTable(rowsOf(results, 'calls', 64)),
  space: spaceTable,
  'where others are faster': fasterTable,
  'callers and processes': (results) =>
    section('More callers, more processes', '', [
      rateTable(results, 'callers', ({ callers }) => counted(callers, 'caller')),
      rateTable(results, 'processes', ({ processes }) => counted(processes, 'process')),
    ]),
  bags: (results) => section('Size of a bag', '', [rateTable(results, 'bags', ({ bag }) => `${bag} bytes`)]),
  network: (results) => rateTable(results, 'network', ({ callers }) => counted(callers, 'caller')),
  rates: (results) => section('Times at fixed rates', RATES, [timeTable(results)]),
  entities: (results) =>
    rateTable(results, 'entities', ({ entities }) => `${formatNumber(entities)} entities`),
  shards: (results) => rateTable(results, 'shards', ({ shards }) => counted(shards, 'shard')),
  indexes: (results) => rateTable(results, 'indexes', ({ indexes }) => `${indexes} indexes`),
  sqlite: (results) => ratioTable(rowsOf(results, 'sqlite'), nameOf),
  bulk: bulkTable,
  changes: changesTable,
  observing: observingTable,
  profile: profileTable,
}

const RATES = `Calls start at a fixed rate, whether earlier ones were answered or not, and the time of a call counts from when it was due. \`mixed\`
is 45 % gets, 45 % pages, 5 % updates, 4 % inserts and 1 % puts; few entries and users get most of the calls.`

/** Returns tables under a heading, or nothing if all of them are empty. */
function section(title: string, prose: string, all: readonly string[]): string {
  const filled = all.filter((table) => table !== '')
  return filled.length === 0 ? '' : [`## ${title}`, prose, ...filled].filter(Boolean).join('\n\n')
}

const mark = (name: string): string => `<!-- table: ${name} -->`
const END = '<!-- end of table -->'

/** Returns the text with each table written from the results. Throws for an unknown table name. */
export function fillTables(text: string, results: Results): string {
  return text.replace(/<!-- table: (.+?) -->[^]*?<!-- end of table -->/g, (_, name: string) => {
    const table = tables[name]
    if (table === undefined) throw new Error(`There is no table "${name}".`)
    const filled = table(results)
    return [mark(name), ...(filled === '' ? [] : [filled]), END].join('\n\n')
  })
}

const rowsOf = ({ results }: Results, part: PartName, callers?: number): ResultRow[] =>
  results.filter((row) => row.part === part && (callers === undefined || row.callers === callers))

function machineOf({ parts }: Results): string {
  const all = Object.values(parts)
  const last = all.toSorted((a, b) => a.finished.localeCompare(b.finished)).at(-1)
  if (last === undefined) return ''
  const { machine } = last
  const versions = [
    ...new Set(all.flatMap(({ servers }) => servers.map((server) => versionOf(server))).filter(Boolean)),
  ]
  const missing = partNames.filter((part) => parts[part] === undefined)
  const elsewhere = Object.entries(parts).filter(([, facts]) => facts.machine.cpu !== machine.cpu)
  const quick = all.some(({ scale }) => scale !== 'full')
  return [
    ...(quick ? ['**From a quick run: it shows the format, and its numbers mean nothing.**', ''] : []),
    `${machine.cpu}, ${machine.cores} cores, ${machine.system}; Node ${machine.node}; ${versions.join('; ')}.`,
    `A flush takes ${formatNumber(machine.flushMs.median)} ms. Measured on ${last.finished.slice(0, 10)}.`,
    ...(elsewhere.length === 0
      ? []
      : ['', `Measured on another machine: ${elsewhere.map(([part]) => part).join(', ')}.`]),
    ...(missing.length === 0 ? [] : ['', `Not measured, and left out below: ${missing.join(', ')}.`]),
  ].join('\n')
}

function versionOf(server: Readonly<Record<string, unknown>>): string {
  const first = (server['servers'] as { version?: string }[] | undefined)?.[0]
  if (first?.version !== undefined) return `MariaDB ${first.version.split('-')[0]}`
  const version = server['version']
  if (typeof version === 'string') return version.split(' ').slice(0, 2).join(' ')
  return typeof server['sqlite'] === 'string' ? `SQLite ${server['sqlite']}` : ''
}

type Key = (row: ResultRow) => string

const sidesOf = (rows: readonly ResultRow[]): Measured[] =>
  sideNames.filter((name) => rows.some(({ side }) => side === name))
const isLooseleaf = ({ side }: Pick<ResultRow, 'side'>): boolean =>
  side === 'looseleaf' || side === 'sqlite-looseleaf'

/** Looseleaf's calls a second, and their ratio to those of each other side. */
function ratioTable(rows: readonly ResultRow[], keyOf: Key = ({ scenario }) => scenario): string {
  const others = sidesOf(rows).filter((side) => !isLooseleaf({ side }))
  const lines = [...Map.groupBy(rows, keyOf)].map(([name, line]) => {
    const row = line.find(isLooseleaf)
    return [name, row === undefined ? '–' : formatNumber(row.opsPerSecond), ...ratioCells(rows, line, others)]
  })
  return markdownTable(['', 'Looseleaf, calls/s', ...others.map((side) => `to ${titleOf(side)}`)], lines)
}

/** Returns a line's ratio to each of these sides; see `ratioOf`. */
function ratioCells(
  rows: readonly ResultRow[],
  line: readonly ResultRow[],
  sides: readonly Measured[],
  first?: readonly Measured[],
): string[] {
  return sides.map((side) => {
    const other = line.find((row) => row.side === side)
    const ratio = other && ratioOf(rows, other, first)
    return ratio === undefined ? '–' : formatRatio(spreadOf(ratio))
  })
}

/** Ratios of the limit's calls a second to those of each peer. */
function limitTable(results: Results): string {
  const rows = rowsOf(results, 'calls')
  const peers = sidesOf(rows).filter((side) => !isNoPeer(side) && !isLooseleaf({ side }))
  const lines = [...Map.groupBy(rows, nameOf)]
    .filter(([, line]) => line.some(({ side }) => side === 'limit'))
    .map(([name, line]) => [name, ...ratioCells(rows, line, peers, ['limit'])])
  return markdownTable(["the limit's calls/s", ...peers.map((side) => `to ${titleOf(side)}`)], lines)
}

function cpuTable(rows: readonly ResultRow[]): string {
  const sides = sidesOf(rows)
  const lines = [...Map.groupBy(rows, ({ scenario }) => scenario)].map(([name, line]) => [
    name,
    ...sides.map((side) => {
      const row = line.find((other) => other.side === side)
      return row === undefined
        ? '–'
        : `${formatNumber(row.clientCpuUs)} + ${formatMaybe(row.serverCpuUs ?? undefined)}`
    }),
  ])
  return markdownTable(['µs of CPU, client + servers', ...sides.map(titleOf)], lines)
}

/** True for the limit, which is not a usable program, and for variants of Looseleaf. */
const isNoPeer = (side: Measured): boolean =>
  side === 'limit' || allSides.some(({ name, isVariant }) => name === side && isVariant === true)

/** Results in which a peer was faster than Looseleaf in every round. Work like an import has one round. */
function fasterTable({ results }: Results): string {
  const lines = results
    .filter(({ part, side }) => ['calls', 'sqlite', 'import', 'build'].includes(part) && !isNoPeer(side))
    .flatMap((row) => {
      const ratio = ratioOf(results, row)?.map((value) => 1 / value)
      const faster = ratio && spreadOf(ratio)
      return faster !== undefined && faster.min > 1 ? [{ row, faster }] : []
    })
    .toSorted((a, b) => b.faster.median - a.faster.median)
    .map(({ row, faster }) => [nameOf(row), titleOf(row.side), formatRatio(faster)])
  return markdownTable(['call', 'faster side', 'by'], lines)
}

const nameOf = ({ part, scenario, callers }: ResultRow): string =>
  part === 'import' || part === 'build' ? scenario : `${scenario}, ${counted(callers, 'caller')}`

/**
 * Bytes per entity on disk, index rows included, after the part `calls` was filled. The limit and the hand-written side are left out: they
 * use Looseleaf's tables, and their order of filling changes how densely pages are packed.
 */
function spaceTable(results: Results): string {
  const rows = rowsOf(results, 'calls', 64).filter(
    ({ scenario, side, bytesPerEntity }) =>
      scenario === 'insert' && bytesPerEntity !== null && !['limit', 'hand-written'].includes(side),
  )
  const base = rows.find(isLooseleaf)?.bytesPerEntity
  const lines = rows.map(({ side, bytesPerEntity }) => [
    titleOf(side),
    formatMaybe(bytesPerEntity ?? undefined),
    base && bytesPerEntity ? `${(bytesPerEntity / base).toFixed(2)} ×` : '–',
  ])
  return markdownTable(['', 'bytes per entity', 'to Looseleaf'], lines)
}

/** Rounds and duration of each part, and the machine's load average before it. */
function runsTable({ parts, results }: Results): string {
  const lines = Object.entries(parts).map(([part, { machine, started, finished, commit }]) => [
    part,
    `${Math.max(...results.filter((row) => row.part === part).map(({ rounds }) => rounds.length))}`,
    formatNumber((Date.parse(finished) - Date.parse(started)) / 60_000),
    machine.loadAverage.toFixed(1),
    `${started.slice(0, 10)} ${commit ?? '–'}`,
  ])
  return markdownTable(['part', 'rounds', 'minutes', 'load average before', 'day and commit'], lines)
}

/** Calls a second of each side. */
function rateTable(results: Results, part: PartName, variantOf: Key): string {
  const rows = rowsOf(results, part)
  const sides = sidesOf(rows)
  const lines = [...Map.groupBy(rows, (row) => `${row.scenario}, ${variantOf(row)}`)].map(([name, line]) => [
    name,
    ...sides.map((side) => formatMaybe(line.find((row) => row.side === side)?.opsPerSecond)),
  ])
  return markdownTable(['calls/s', ...sides.map(titleOf)], lines)
}

function timeTable(results: Results): string {
  const rows = rowsOf(results, 'rates')
  const sides = sidesOf(rows)
  const lines = [
    ...Map.groupBy(rows, ({ scenario, rate }) => `${scenario}, ${formatNumber(rate ?? 0)} a second`),
  ].map(([name, line]) => [
    name,
    ...sides.map((side) => {
      const row = line.find((other) => other.side === side)
      return row === undefined ? '–' : `${formatNumber(row.p50Ms)} / ${formatNumber(row.p99Ms)}`
    }),
  ])
  return markdownTable(['ms, p50 / p99', ...sides.map(titleOf)], lines)
}

function bulkTable({ results }: Results): string {
  const rows = results.filter(({ part }) => part === 'import' || part === 'build' || part === 'sweep')
  const lines = rows.map((row) => [
    `${row.scenario}, ${titleOf(row.side)}`,
    formatNumber(row.entities),
    formatNumber(row.opsPerSecond),
    formatNumber(row.clientCpuUs),
    formatMaybe(row.serverCpuUs ?? undefined),
    formatMaybe(row.bytesPerEntity ?? undefined),
    formatMaybe(row.memoryMiB),
    row.rate === null
      ? '–'
      : `${formatNumber(row.p99Ms)} / ${formatNumber(row.maxMs)} of ${formatNumber(row.loadCalls ?? 0)}`,
  ])
  const head = [
    '',
    'entities',
    'a second',
    'client µs',
    'servers µs',
    'bytes each',
    'memory MiB',
    'load: p99 / longest ms of calls',
  ]
  return markdownTable(head, lines)
}

/** Writes with and without followers, times of raising a floor, and delays of delivered changes. */
function changesTable(results: Results): string {
  const rows = rowsOf(results, 'changes')
  const sides = sidesOf(rows.filter(({ callers }) => callers > 1))
  const lines = [
    ...Map.groupBy(
      rows.filter(({ callers }) => callers > 1),
      ({ scenario }) => scenario,
    ),
  ].map(([name, line]) => [
    name,
    ...sides.map((side) => {
      const row = line.find((other) => other.side === side)
      const ratio = row && ratioOf(rows, row)?.map((value) => 1 / value)
      const more = ratio === undefined ? '' : ` (${spreadOf(ratio).median.toFixed(2)})`
      return row === undefined ? '–' : `${formatNumber(row.opsPerSecond)}${more}`
    }),
  ])
  const head = ['calls/s (to the first), 64 callers', ...sides.map(titleOf)]
  const delivery = rows.filter(({ scenario }) => scenario === 'delivery')
  const times = delivery.map(({ rate, entities, p50Ms, p99Ms, maxMs }) => [
    `${formatNumber(rate ?? 0)} puts a second`,
    formatNumber(entities),
    ...[p50Ms, p99Ms, maxMs].map(formatNumber),
  ])
  const raises = rows
    .filter(({ scenario }) => scenario === 'raise')
    .map(({ entities, p50Ms, p99Ms, maxMs, share }) => [
      'under puts of 64 callers',
      formatNumber(entities),
      ...[p50Ms, p99Ms, maxMs].map(formatNumber),
      `${formatNumber(100 * (share ?? 0))} %`,
    ])
  return [
    markdownTable(head, lines),
    markdownTable(
      ['raising a floor', 'raises', 'p50 ms', 'p99 ms', 'longest ms', 'share of the time'],
      raises,
    ),
    markdownTable(['from the write to the follower', 'changes', 'p50 ms', 'p99 ms', 'longest ms'], times),
  ]
    .filter(Boolean)
    .join('\n\n')
}

/** Cost of the observer seam without observers. */
function observingTable(results: Results): string {
  const lines = rowsOf(results, 'observing').map(({ scenario, looksPerOp, clientCpuUs, share }) => [
    scenario,
    formatNumber(looksPerOp ?? 0),
    formatNumber(clientCpuUs),
    `${formatNumber(100 * (share ?? 0))} %`,
  ])
  return markdownTable(['64 callers', 'checks per call', 'client µs per call', 'share of the CPU'], lines)
}

/** µs of the client's CPU by kind of work. */
function profileTable(results: Results): string {
  const lines = rowsOf(results, 'profile').map((row) => [
    `${row.scenario}${isBulk(row) ? '' : `, ${counted(row.callers, 'caller')}`}: ${titleOf(row.side)}`,
    formatNumber(row.clientCpuUs),
    ...workNames.map((name) => formatNumber(row.clientCpuUs * (row.shares?.[name] ?? 0))),
  ])
  return markdownTable(["µs of the client's CPU", 'all', ...workNames], lines)
}

const isBulk = ({ scenario }: ResultRow): boolean => scenario === 'import' || scenario === 'index build'

/** Formats a table as oxfmt does: the first column to the left, the others to the right. Returns '' for no lines. */
function markdownTable(head: readonly string[], lines: readonly (readonly string[])[]): string {
  if (lines.length === 0) return ''
  const widths = head.map((_, i) =>
    Math.max(3, ...[head, ...lines].map((line) => (line[i] as string).length)),
  )
  const row = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] as number) : cell.padStart(widths[i] as number))).join(' | ')} |`
  const rule = widths.map((width, i) => (i === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`))
  return [row(head), row(rule), ...lines.map(row)].join('\n')
}

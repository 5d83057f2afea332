import type { MoveReport } from '@looseleaf/store'
import { markup, type Html } from '../kit/html.ts'
import { long, table } from '../kit/table.ts'
import { capital, counted, milliseconds, timeText } from '../kit/text.ts'

/** Remaining time below which no rate is shown, because the text would disappear at once. */
const LEAST_PACE_MS = 1_000

/**
 * Renders the moves of buckets: each that is not over with its progress, its pauses and the commands that end it, and a table of the others.
 * `names` are those of the shards.
 */
export function movesSection(moves: readonly MoveReport[], names: readonly string[]): Html {
  const open = moves.filter((move) => move.endedAt === undefined)
  const over = moves.filter(({ endedAt }) => endedAt !== undefined)
  return markup`${open.map((move) => moveSection(move, names))}${over.length === 0 ? undefined : endedTable(over, names)}`
}

function endedTable(moves: readonly MoveReport[], names: readonly string[]): Html {
  const rows = moves.map((move) => [
    `${move.id}`,
    long(`${move.state}${move.endedAt === undefined ? '' : ` at ${timeText(move.endedAt)}`}`),
    names[move.from] ?? `shard ${move.from}`,
    names[move.to] ?? `shard ${move.to}`,
    counted(move.bucketCount, 'bucket'),
    long(copiesText(move)),
    long(pausesText(move)),
    waitsText(move),
  ])
  const head = ['move', 'state', 'from', 'to', 'buckets', 'copied', 'sealed', 'writes that waited']
  return table(head, rows, 'Moves that are over')
}

function moveSection(move: MoveReport, names: readonly string[]): Html {
  const { id, state, from, to, heldUpBy, holder, next } = move
  const nameOf = (shard: number): string => names[shard] ?? `shard ${shard}`
  return markup`<section><h3>Move ${id}: ${state}</h3>
<p>${capital(counted(move.bucketCount, 'bucket'))} from ${nameOf(from)} to ${nameOf(to)}. Handed over so far: ${move.handedOver.toLocaleString('en-US')}.</p>
${progressOf(move)}
<dl><dt>copied</dt><dd>${copiesText(move)}</dd><dt>compared</dt><dd>${verifiedText(move)}</dd><dt>sealed</dt><dd>${pausesText(move)}</dd><dt>writes that waited</dt><dd>${waitsText(move)}</dd>${holder && markup`<dt>worked on by</dt><dd>${holder.worker}, since ${timeText(holder.since)}</dd>`}${next && markup`<dt>next step</dt><dd>${next}</dd>`}${heldUpBy && markup`<dt>held up by</dt><dd>${heldUpBy}</dd>`}${commandsText(move)}</dl></section>`
}

function progressOf({ id, counts: { read }, total, rate, timeLeftMs }: MoveReport): Html | undefined {
  if (total === 0 || timeLeftMs === 0) return undefined
  const fraction = Math.min(1, read / total)
  const percent = `${Math.floor(fraction * 100)}\u00a0%`
  const pace =
    timeLeftMs === undefined || timeLeftMs < LEAST_PACE_MS
      ? ''
      : `, ${counted(Math.round(rate), 'row')} per second, about ${counted(Math.ceil(timeLeftMs / 1_000), 'second')} left`
  return markup`<p><progress max="1" value="${fraction.toFixed(3)}" aria-label="Progress of move ${id}">${percent}</progress> ${percent}${pace}.</p>`
}

function copiesText({ counts: { entities, rows, late, claims } }: MoveReport): string {
  return [
    counted(entities, 'entity', 'entities'),
    counted(rows + late, 'index row'),
    counted(claims, 'claim'),
  ].join(', ')
}

function verifiedText({ verified }: MoveReport): string {
  if (verified === undefined) return 'not yet'
  const { rows, at, by, stale } = verified
  return `${counted(rows, 'row')} at ${timeText(at)} by ${by}${stale ? '; entities were written since' : ''}`
}

function pausesText({ seals: { groups, p50, p99, worst } }: MoveReport): string {
  if (p50 === undefined || p99 === undefined || worst === undefined) return 'no group of buckets was sealed'
  return `${milliseconds(p50)} in the median of ${counted(groups, 'group')}, p99 ${milliseconds(p99)}, at most ${milliseconds(worst)}`
}

function waitsText({ waits }: MoveReport): string {
  return waits === undefined
    ? 'none'
    : `${waits.calls.toLocaleString('en-US')}, the longest for ${milliseconds(waits.longestMs)}`
}

function commandsText({ commands: { forward, back, isBackLater } }: MoveReport): Html {
  const backLabel = isBackLater ? 'go back, once it is over' : 'go back'
  return markup`${forward && markup`<dt>go on</dt><dd><code>${forward}</code></dd>`}${back && markup`<dt>${backLabel}</dt><dd><code>${back}</code></dd>`}`
}

import type { IndexDefinitionData } from '@looseleaf/core'
import { propertyText } from '@looseleaf/index-engine'
import type { PartReport, RunUnderWay } from '@looseleaf/cleaner'
import { actButton } from '../acts/act-page.ts'
import { markup, type Html } from '../html.ts'
import { onText } from '../index-text.ts'
import { counted, timeText } from '../text.ts'
import { table } from '../table.ts'
import { fractionOf, type Generation, type OfferedIndex } from './index-state.ts'

const REASONS = {
  rowsPerSecond: 'its limit of rows a second',
  latency: 'shards that answer slower than when they are left alone',
  'lock waits': 'rows that others have locked',
} as const

/** What is over sooner has no rate: it would be one of a few milliseconds. */
const LEAST_PACE_MS = 1000

/** In a word. */
export function stateOf({ generations }: OfferedIndex): string {
  if (generations.length === 0) return 'absent'
  const words = generations.map(({ status }) => {
    if (status.state === 'retiring') return 'being dropped'
    return status.hidden ? 'hidden' : status.paused ? 'paused' : status.state
  })
  return [...new Set(words)].join(', ')
}

/** An index that is offered: its definition, how it is, and what can be done with it. */
export function offeredSection(offered: OfferedIndex, purpose: Html | undefined, mayAct: boolean): Html {
  const { definition, generations, hasCleaner } = offered
  const inUse = generations.filter(({ status }) => status.state !== 'retiring')
  const isHidden = inUse.some(({ status }) => status.hidden)
  return markup`<section><h2>${definition.name}: ${stateOf(offered)}</h2>
${purpose}<p>${definitionText(definition)}</p>
${generations.length === 0 ? markup`<p>The store has no such index: nothing is written for it, and nothing can be asked of it.</p>` : generations.map((one) => generationPart(one, hasCleaner))}
${mayAct ? markup`<p class="acts">${inUse.length === 0 || isHidden ? actButton('add', definition.name, `Add ${definition.name}`) : undefined}${inUse.length === 0 ? undefined : actButton('drop', definition.name, `Drop ${definition.name}`)}</p>` : undefined}</section>`
}

function definitionText(definition: IndexDefinitionData): string {
  const { properties, shardOn, include, on, unique } = definition
  return [
    `Columns: ${properties.map(propertyText).join(', then ')}. Each row is on the shard ${shardOn === 'id' ? 'of its entity' : `that its ${shardOn} leads to`}.`,
    include && ` Rows hold ${include.join(', ')} too.`,
    on && ` Only for entities with ${onText(definition)}.`,
    unique && ' Unique.',
  ]
    .filter(Boolean)
    .join('')
}

function generationPart({ status, report }: Generation, hasCleaner: boolean): Html {
  const { name, state, generation, unique, hidden, paused } = status
  const what = `Generation ${generation}${unique ? ', its claims' : ''}`
  if (state === 'retiring')
    return markup`<p>${what}: nobody asks it any more, and its tables go from shard to shard.</p>`
  const halted = hidden
    ? ' It is hidden: written, and asked by nobody.'
    : paused
      ? ' Its filling is paused.'
      : ''
  const underWay = report?.underWay
  if (state === 'ready' && underWay === undefined)
    return markup`<p>${what}: ready.${halted} ${lastText(report?.lastRun)}</p>`
  const doing =
    state === 'ready'
      ? 'ready, and being swept.'
      : 'building. Every write goes into it, and nothing asks it until it has all rows.'
  return markup`<p>${what}: ${doing}${halted}</p>${underWay === undefined ? markup`<p>${hasCleaner ? 'A cleaner of the store will fill it; it looks for such indexes every few seconds.' : 'No cleaner runs now, so nobody fills it: start one in the application, or call looseleaf clean.'}</p>` : fillingPart(underWay, `Work on ${name}, ${what.toLowerCase()}`)}`
}

function lastText(last: NonNullable<Generation['report']>['lastRun']): string {
  if (last === undefined) return 'It was made with the store, so there was nothing to fill.'
  return `Its last filling or sweep ended at ${timeText(last.finishedAt)}: ${counted(last.tally.added, 'row')} added, ${counted(last.tally.removed, 'row')} removed.`
}

function fillingPart({ rate, timeLeftMs, shards }: RunUnderWay, label: string): Html {
  const fraction = fractionOf(shards)
  const percent = `${Math.floor(fraction * 100)} %`
  const hasPace = timeLeftMs !== undefined && timeLeftMs >= LEAST_PACE_MS
  return markup`<p><progress max="1" value="${fraction.toFixed(3)}" aria-label="How far it is filled">${percent}</progress> ${percent}${hasPace ? paceText(rate, timeLeftMs) : ''}.</p>
${table(
  ['shard', 'phase', 'done', 'rows a second', 'held up by', 'worker'],
  shards.map((part) => [
    `${part.shard}`,
    part.phase,
    `${part.done.toLocaleString('en-US')} of ${part.total.toLocaleString('en-US')}`,
    hasPace ? Math.round(part.rate).toLocaleString('en-US') : '–',
    heldUp(part),
    part.worker ?? 'none',
  ]),
  label,
)}`
}

function paceText(rate: number, timeLeftMs: number): string {
  return `, ${counted(Math.round(rate), 'row')} a second, about ${counted(Math.ceil(timeLeftMs / 1000), 'second')} left`
}

function heldUp({ throttledBy, waited }: PartReport): string {
  return throttledBy === undefined
    ? 'nothing'
    : `${REASONS[throttledBy]}, ${Math.round(waited * 100)} % of the time`
}

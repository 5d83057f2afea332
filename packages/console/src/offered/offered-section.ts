import type { PartReport, RunInProgress } from '@looseleaf/cleaner/internal'
import { actButton } from '../acts/act-button.ts'
import { markup, type Html } from '../kit/html.ts'
import { definitionFacts } from '../indexes/index-text.ts'
import { counted, timeText } from '../kit/text.ts'
import { table } from '../kit/table.ts'
import { fractionOf, type Generation, type OfferedIndex } from './index-state.ts'

const REASONS = {
  rowsPerSecond: 'its limit of rows per second',
  latency: 'shards that answer more slowly than without it',
  'lock waits': 'rows that other statements have locked',
  calls: 'calls of its own process',
} as const

/** Remaining time below which no rate is shown, because the text would disappear at once. */
const LEAST_PACE_MS = 1000

/** Returns the states of the generations, such as `ready` or `ready, building`. */
export function stateOf({ generations }: OfferedIndex): string {
  if (generations.length === 0) return 'absent'
  const words = generations.map(({ status }) => {
    if (status.state === 'retiring') return 'being dropped'
    return status.hidden ? 'hidden' : status.paused ? 'paused' : status.state
  })
  return [...new Set(words)].join(', ')
}

/** Renders an offered index: its definition, its state, and the buttons of its acts. */
export function offeredSection(offered: OfferedIndex, purpose: Html | undefined, mayAct: boolean): Html {
  const { definition, generations, hasCleaner } = offered
  const inUse = generations.filter(({ status }) => status.state !== 'retiring')
  const isHidden = inUse.some(({ status }) => status.hidden)
  return markup`<section><h2>${definition.name}: ${stateOf(offered)}</h2>
${purpose}<dl>${definitionFacts(definition)}</dl>
${generations.length === 0 ? markup`<p>The store does not have this index: no rows are written, and queries of it are refused.</p>` : generations.map((generation) => generationPart(generation, hasCleaner))}
${mayAct ? markup`<p class="acts">${inUse.length === 0 || isHidden ? actButton('add', definition.name, `Add ${definition.name}`) : undefined}${inUse.length === 0 ? undefined : actButton('drop', definition.name, `Drop ${definition.name}`)}</p>` : undefined}</section>`
}

function generationPart({ status, report }: Generation, hasCleaner: boolean): Html {
  const { name, state, generation, unique, hidden, paused } = status
  const title = `Generation ${generation}${unique ? ', its claims' : ''}`
  if (state === 'retiring')
    return markup`<p>${title}: queries no longer read it, and its tables are being dropped.</p>`
  const halted = hidden ? ' It is hidden: written, and not queried.' : paused ? ' Its filling is paused.' : ''
  const inProgress = report?.inProgress
  if (state === 'ready' && inProgress === undefined)
    return markup`<p>${title}: ready.${halted} ${lastText(report?.lastRun)}</p>`
  const stateSentence =
    state === 'ready'
      ? 'ready, and being swept.'
      : 'building. Every write adds its rows, and queries are refused until it has all rows.'
  return markup`<p>${title}: ${stateSentence}${halted}</p>${inProgress === undefined ? markup`<p>${hasCleaner ? 'A cleaner of the store starts to fill it within seconds.' : 'No cleaner runs now, so it is not being filled. Start one in the application, or run looseleaf clean.'}</p>` : fillingPart(inProgress, `Work on ${name}, ${title.toLowerCase()}`)}`
}

function lastText(last: NonNullable<Generation['report']>['lastRun']): string {
  if (last === undefined) return 'It was created with the store, so it needed no filling.'
  return `Its last filling or sweep ended at ${timeText(last.finishedAt)}: ${counted(last.tally.added, 'row')} added, ${counted(last.tally.removed, 'row')} removed.`
}

function fillingPart({ rate, timeLeftMs, shards }: RunInProgress, label: string): Html {
  const fraction = fractionOf(shards)
  const percent = `${Math.floor(fraction * 100)}\u00a0%`
  const hasPace = timeLeftMs !== undefined && timeLeftMs >= LEAST_PACE_MS
  return markup`<p><progress max="1" value="${fraction.toFixed(3)}" aria-label="Progress of the filling">${percent}</progress> ${percent}${hasPace ? paceText(rate, timeLeftMs) : ''}.</p>
${table(
  ['shard', 'phase', 'done', 'rows per second', 'throttled by', 'worker'],
  shards.map((part) => [
    `${part.shard}`,
    part.phase,
    `${part.done.toLocaleString('en-US')} of ${part.total.toLocaleString('en-US')}`,
    hasPace ? Math.round(part.rate).toLocaleString('en-US') : '–',
    throttlingText(part),
    part.worker ?? 'none',
  ]),
  label,
)}`
}

function paceText(rate: number, timeLeftMs: number): string {
  return `, ${counted(Math.round(rate), 'row')} per second, about ${counted(Math.ceil(timeLeftMs / 1000), 'second')} left`
}

function throttlingText({ throttledBy, waited }: PartReport): string {
  return throttledBy === undefined
    ? 'nothing'
    : `${REASONS[throttledBy]}, ${Math.round(waited * 100)} % of the time`
}

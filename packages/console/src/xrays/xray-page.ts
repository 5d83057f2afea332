import type { Trace } from '@looseleaf/store'
import type { TracedStatement } from '@looseleaf/store/internal'
import { markup, type Html } from '../kit/html.ts'
import type { KeptTrace } from './kept-traces.ts'
import { long, moment, scrolling, table } from '../kit/table.ts'
import { capital, counted, cut, milliseconds, timeText } from '../kit/text.ts'
import {
  failedCalls,
  failuresOf,
  nameOf,
  namesOf,
  numbersText,
  OWN,
  sameCalls,
  slowest,
  writesBoth,
} from './xray-calls.ts'
import { kindOf, timeLine, tookMs } from './time-line.ts'

/** Largest number of shown characters of a statement. A statement for many rows has placeholders for each. */
const MAX_TEXT = 600

/** Largest numbers of shown statements, rows of calls, and different texts of statements. */
const MAX_STATEMENTS = 100
const MAX_CALLS = 40
const MAX_TEXTS = 17
/** Largest number of links to earlier X-rays of a page. */
const MAX_EARLIER = 20

const KINDS = {
  index: 'index rows',
  entities: 'entities',
  own: 'the store’s own',
  failed: 'failed',
  'own write': 'with an edge: write',
  'shared own': 'pale: shared with other work',
  'own joined': 'a line: index rows led to entities on another shard',
} as const

/** Renders the X-ray of a trace: its statements, its calls, and a time line. */
export function xrayPage(base: string, { title, at, page, trace }: KeptTrace): Html {
  const statements = cut(trace.statements, MAX_STATEMENTS, 'statement')
  const groups = sameCalls(trace)
  const calls = cut(groups, MAX_CALLS, 'row of calls', 'rows of calls')
  const texts = new Map<string, number>()
  return markup`<h1>X-ray: ${title}</h1>
<p class="lead">${failuresOf(trace)}${summary(trace)}</p>
<p>${page === undefined ? undefined : markup`<a href="${page}">Back to the page ${page}</a> · `}<a href="${base}/xray">All X-rays</a></p>
${trace.statements.length === 0 ? undefined : scrolling('Time line', timeLine({ ...trace, statements: statements.shown }))}
<p class="keys">${Object.entries(KINDS).map(([kind, name]) => markup`<span class="key ${kind}"><i></i>${name}</span> `)}</p>
<h2>Statements</h2>
${table(
  ['#', 'begins', 'takes', 'shard', 'statement', 'rows', 'for calls of this work', 'also for others'],
  statements.shown.map((statement, i) => statementRow(trace, statement, i, texts)),
  'Statements',
)}
<h2>Calls</h2>
<p>Equal calls with the same statements share a row.</p>
${table(
  ['begins', 'takes', 'call', 'in statements'],
  calls.shown.map(({ calls: [first, ...others], numbers }) => [
    milliseconds(first.startedAt - trace.startedAt),
    slowest([first, ...others]),
    markup`${nameOf(first)}${others.length === 0 ? '' : ` ×${others.length + 1}`}${first.failure === undefined ? undefined : markup` <span class="no">failed: ${first.failure}</span>`}`,
    numbersText(numbers),
  ]),
  'Calls',
)}
<p class="soft">${[statements.note, calls.note].filter(Boolean).join(' ')} Started at ${timeText(at)}. ${trace.omitted > 0 ? `${counted(trace.omitted, 'more call, statement or event', 'more calls, statements and events')} ${trace.omitted === 1 ? 'was' : 'were'} not kept. ` : ''}The texts of statements have placeholders instead of values.</p>`
}

function discardedRows({ events }: Trace): number {
  return events.reduce((sum, event) => sum + (event.kind === 'discarded' ? event.rows : 0), 0)
}

function summary(trace: Trace): string {
  const { statements, calls, events } = trace
  const shards = new Set(statements.map(({ shard }) => shard)).size
  const shared = statements.filter(({ others }) => others > 0).length
  const discarded = discardedRows(trace)
  const missing = new Set(events.flatMap((event) => (event.kind === 'skipped' ? [event.shard] : [])))
  const retries = events.filter(({ kind }) => kind === 'attempt').length
  return [
    `${capital(counted(calls.length, 'call'))} became ${counted(statements.length, 'statement')} to ${counted(shards, 'shard')} in ${milliseconds(tookMs(trace))}.`,
    shared === 0 ? '' : ` ${shared} of them also served calls of other work.`,
    discarded === 0
      ? ' No index row was discarded.'
      : ` ${capital(counted(discarded, 'index row'))} led to nothing and ${discarded === 1 ? 'was' : 'were'} discarded.`,
    missing.size === 0 ? '' : ` Its reads left out ${[...missing].join(', ')}, which did not answer.`,
    retries === 0 ? '' : ` Writes were retried ${counted(retries, 'time')}.`,
    writesBoth(trace) ? ' Its writes added index rows first, and then committed the entities.' : '',
  ].join('')
}

/** Renders a row. `texts` has the texts that earlier rows show, with the numbers of these rows. */
function statementRow(
  { startedAt }: Trace,
  statement: TracedStatement,
  i: number,
  texts: Map<string, number>,
): (Html | string)[] {
  const { sentAt, durationMs, shard, operation, table: name = '', rows, calls, others, failure } = statement
  const text = statement.text.trim().replace(/\s+/g, ' ')
  const first = texts.get(text)
  if (first === undefined) texts.set(text, i + 1)
  const shown =
    first !== undefined
      ? `The same text as #${first}.`
      : texts.size > MAX_TEXTS
        ? 'Not shown: there are too many texts.'
        : text.length > MAX_TEXT
          ? `${text.slice(0, MAX_TEXT)} …`
          : text
  return [
    `${i + 1}`,
    milliseconds(sentAt - startedAt),
    milliseconds(durationMs),
    shard,
    markup`<details><summary class="${kindOf(statement)}"><i></i>${operation} ${name}${failure === undefined ? undefined : markup` <span class="no">failed: ${failure}</span>`}</summary><code>${shown}</code></details>`,
    `${rows}`,
    OWN[name] === undefined ? namesOf(calls) : long(`${namesOf(calls)}: it needs ${OWN[name]}`),
    others === 0 ? '' : counted(others, 'call'),
  ]
}

/** Renders the last X-ray of a page, and links to the earlier ones. */
function traceRow(base: string, last: KeptTrace, earlier: readonly KeptTrace[]): (Html | string)[] {
  const { id, title, at, trace } = last
  const { shown, note } = cut(earlier, MAX_EARLIER, 'more')
  return [
    long(markup`<a href="${base}/xray/${id}">${title}</a>${failedCalls(trace)}`),
    moment(timeText(at)),
    milliseconds(tookMs(trace)),
    `${trace.calls.length}`,
    `${trace.statements.length}`,
    `${discardedRows(trace)}`,
    earlier.length === 0
      ? ''
      : markup`<details><summary>${earlier.length}<span class="unseen"> earlier</span></summary>${shown.map((each) => markup`<a href="${base}/xray/${each.id}">${timeText(each.at)}</a>, ${milliseconds(tookMs(each.trace))}${failedCalls(each.trace)}<br>`)}${note}</details>`,
  ]
}

/** Renders the list of X-rays, those of the same page together. */
export function tracesPage(base: string, traces: readonly KeptTrace[]): Html {
  return markup`<h1>X-rays</h1>
<p class="lead">An X-ray shows the statements behind a page of the application. Every call becomes statements, and concurrent calls share them.</p>
${
  traces.length === 0
    ? markup`<p>This process has none yet. The application makes them: it runs its work in store.trace and passes the trace to keep() of the console.</p>`
    : markup`<div class="narrow">${table(
        ['work', 'when', 'took', 'calls', 'state­ments', 'dis­carded rows', 'earlier ones'],
        [...Map.groupBy(traces, ({ title }) => title).values()].flatMap(([last, ...earlier]) =>
          last === undefined ? [] : [traceRow(base, last, earlier)],
        ),
        'X-rays',
      )}</div>`
}`
}

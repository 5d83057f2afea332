import type { Entity } from '@looseleaf/core'
import { counted, grouped } from '@looseleaf/core/internal'
import type { IndexCondition, QueryPage } from '@looseleaf/index-engine'
import { definitionFromData, MAX_LIMIT } from '@looseleaf/index-engine/internal'
import { Option } from 'commander'
import { defineCommand, type AddCommand } from '../running/define-command.ts'
import { wholeNumber } from '../running/parse-whole.ts'
import { bagText, entityJson, valueText } from '../views/entity-view.ts'
import { findIndex } from '../indexes/find-index.ts'
import { indexColumns, type IndexColumn } from '../indexes/index-columns.ts'
import type { Output } from '../output/output.ts'
import { clip } from '../output/text.ts'
import { parseWhere } from '../indexes/where-expression.ts'

interface QueryCommandOptions {
  readonly order?: 'asc' | 'desc'
  readonly limit?: number
  readonly cursor?: string
  readonly scatter?: boolean
  readonly and?: readonly string[]
}

export const WHERE_HELP = `A condition is a property, an operator and a value of the property’s type:
  user_id=0192f0c1-…             one of = > >= < <=
  title^=Hello                   strings that begin with this
  published>=2009-02-27          a day, or a time with a zone:
  published<2009-02-27T12:30:00Z
  done=true                      true or false for boolean
  "due is null"                  without the property, where the index has nulls
Conditions follow the order of the index: values for its first properties, then
at most one range on the next property. Several values of a property match any
of them: status=open status=waiting. Quote conditions with > or < for the shell.`

const DETAILS = `${WHERE_HELP}

With --and, the page has the entities that also match conditions on another
index, or on the same one again. After the properties with one given value, all
these indexes need the same properties in the same order. It is the order of the
page.

A column shows a property of the index. A property under another name, as with
\`as\` in a kind, is shown as its key, such as the first day of a month.

JSON:
  { "items": [{ "id", "version", "updated", "properties" }],
    "cursor"?, "previous"?,
    "cost": { "shards", "indexReads", "rowsRead", "entityReads", "rowsExamined",
      "rowsMatched", "rowsDiscarded", "entitiesRead", "complete" } }`

export const addQuery: AddCommand = (program) => {
  defineCommand(program, {
    usage: 'query <index> [conditions...]',
    summary: 'Print entities by an index, a page at a time',
    details: DETAILS,
    examples: [
      [
        'query entries_by_user user_id=0192f0c1-7c1e-7abc-8def-0123456789ab --order desc --limit 30',
        'the newest 30 of a user',
      ],
      [
        `query entries_by_user user_id=0192f0c1-7c1e-7abc-8def-0123456789ab 'published>=2009-02-01'`,
        'since a day',
      ],
      ['query jobs_by_status status=open status=waiting', 'of two values'],
      ['query entries_by_user --scatter', 'from all shards'],
      ['query entries_by_tag tags=cats --and entries_by_tag tags=dogs', 'with both tags'],
    ],
  })
    .addOption(new Option('--order <order>', 'order of the index').choices(['asc', 'desc']))
    .option('--limit <n>', `entities of the page, 1 to ${MAX_LIMIT} (default: 50)`, parseLimit)
    .option('--cursor <text>', 'cursor of another page, to the next or to the previous page')
    .option('--scatter', 'ask all shards, for conditions without the shard key')
    .option('--and <index and conditions...>', 'another index with its conditions; may be repeated')
    .does(
      async (
        { output, signal, openStore },
        name: string,
        conditions: string[],
        options: QueryCommandOptions,
      ) => {
        const store = await openStore()
        const parsed = [{ name, expressions: conditions }, ...parseAnd(options.and)].map((each) => {
          const index = definitionFromData(findIndex(store, each.name))
          return { index, where: parseWhere(index, each.expressions) }
        })
        const { order, limit, cursor, scatter } = options
        const pageOptions = { order, limit, cursor, scatter, signal }
        const [{ index, where }, ...others] = parsed as [IndexCondition, ...IndexCondition[]]
        const page =
          others.length === 0
            ? await store.query(index, where, pageOptions)
            : await store.intersect(parsed, pageOptions)
        const { items, cost } = page
        const result = {
          items: items.map(entityJson),
          ...(page.cursor !== undefined && { cursor: page.cursor }),
          ...(page.previous !== undefined && { previous: page.previous }),
          cost,
        }
        output.result(result, () => pageText(output, indexColumns(parsed.map((each) => each.index)), page))
      },
    )
}

type Page = Omit<QueryPage, 'items'> & { readonly items: readonly Entity[] }

/** Name of an index. A condition never matches: it contains an operator or a space. */
const NAME = /^[a-z][a-z0-9_]*$/

/** Groups the words of all --and options. Each name of an index starts a group. */
function parseAnd(words: readonly string[] = []): { name: string; expressions: string[] }[] {
  const groups: { name: string; expressions: string[] }[] = []
  for (const word of words) {
    const last = groups.at(-1)
    if (last === undefined || NAME.test(word)) groups.push({ name: word, expressions: [] })
    else last.expressions.push(word)
  }
  return groups
}

function pageText(output: Output, columns: readonly IndexColumn[], page: Page): string {
  const { colors, width } = output
  const { items, cost, cursor, previous } = page
  const names = columns.map(({ name }) => name)
  const shownWhole = columns.flatMap(({ shows = [] }) => shows)
  const shown = items.map((entity) => columns.map(({ valueOf }) => clip(valueText(valueOf(entity)), 40)))
  const widths = names.map((name, i) => Math.max(name.length, ...shown.map((row) => row[i]?.length ?? 0)) + 2)
  const remainingWidth = Math.max(20, width - 38 - widths.reduce((sum, n) => sum + n, 0))
  const rows = items.map((entity, i) => [
    entity.id,
    ...(shown[i] ?? []),
    colors.dim(clip(bagText(entity, ['id', ...shownWhole]), remainingWidth)),
  ])
  const summary = colors.dim(
    `${counted(items.length, 'entity', 'entities')}; ${counted(cost.rowsExamined, 'index row', 'index rows')} examined, ${grouped(cost.rowsDiscarded)} discarded, ${counted(cost.shards, 'shard', 'shards')} asked`,
  )
  return [
    ...(items.length === 0 ? [] : [output.table(['ID', ...names, 'OTHER PROPERTIES'], rows)]),
    summary,
    ...(cursor === undefined ? [] : [`Next page: --cursor ${cursor}`]),
    ...(previous === undefined ? [] : [`Previous page: --cursor ${previous}`]),
  ].join('\n')
}

const parseLimit = wholeNumber(1, MAX_LIMIT, `a whole number from 1 to ${MAX_LIMIT}`)

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'

/** A mistake, and the sentence in the error of the compiler. */
type Mistake = readonly [name: string, code: string, sentence: string]

const index = (definition: string): string =>
  `defineKind('issue', { schema: typed<Issue>(), indexes: { byX: ${definition} } })`
const kind = (type: string): string => `defineKind('issue', { schema: typed<${type}>() })`

const mistakes: readonly Mistake[] = [
  [
    'an optional property without `nulls`',
    index(`{ by: [{ due: 'time' }] }`),
    `The property due may be absent or null: add nulls: 'first' or 'last' to index such entities, or 'skip' to leave them out.`,
  ],
  [
    'a nullable property without `nulls`, with other options',
    index(`{ by: [{ assignee: { type: 'string', order: 'desc' } }] }`),
    'The property assignee may be absent or null',
  ],
  [
    'a property of an object that may be absent',
    index(`{ by: [{ 'review.by': 'string' }] }`),
    'The property review.by may be absent or null',
  ],
  [
    'a property that is optional in the only variant that has it',
    `defineKind('event', { schema: typed<{ kind: 'a' } | { kind: 'b'; at?: Date }>(), indexes: { byAt: { by: [{ at: 'time' }] } } })`,
    'The property at may be absent or null',
  ],
  [
    'a shardOn that names no property of the index',
    index(`{ by: [{ project: 'string' }, { title: 'string' }], shardOn: 'nothing' }`),
    `shardOn is \\"nothing\\", which is none of the index's properties (project, title) and not 'id'.`,
  ],
  [
    'an expiry by a property that the kind does not have',
    `defineKind('issue', { schema: typed<Issue>(), expires: 'untl' })`,
    'The kind has no property \\"untl\\" to expire by.',
  ],
  [
    'an expiry by a property that holds no time',
    `defineKind('issue', { schema: typed<Issue>(), expires: 'title' })`,
    'The property title has to hold one Date for an entity to expire by it.',
  ],
  [
    'a near property that the kind does not have',
    `defineKind('issue', { schema: typed<Issue>(), near: 'projct' })`,
    'The kind has no property \\"projct\\" to be near.',
  ],
  [
    'a near property that may be absent',
    `defineKind('issue', { schema: typed<Issue>(), near: 'assignee' })`,
    'The property assignee may be absent or null, and then it decides no place.',
  ],
  [
    'a near property with the type of another one',
    `defineKind('issue', { schema: typed<Issue>(), near: { project: 'integer' } })`,
    'The property project does not hold the type that near has for it.',
  ],
  [
    'two properties in one object',
    index(`{ by: [{ project: 'string', title: 'string' }] }`),
    'Each property of an index stands in an object of its own',
  ],
  [
    'a misspelt option of an index',
    index(`{ by: [{ title: 'string' }], uniqe: true }`),
    'An index has no option \\"uniqe\\"; there are by, shardOn, unique, include, onMisfit.',
  ],
  [
    'a misspelt option of a property',
    index(`{ by: [{ title: { type: 'string', ordr: 'desc' } }] }`),
    'The property title has no option \\"ordr\\"; there are type, as, key, order, nulls.',
  ],
  [
    'a misspelt value of an option',
    index(`{ by: [{ due: { type: 'time', nulls: 'frist' } }] }`),
    `The option nulls of due has to be 'first', 'last' or 'skip'.`,
  ],
  [
    'a misspelt property',
    index(`{ by: [{ titel: 'string' }] }`),
    'The kind has no property \\"titel\\" to index.',
  ],
  [
    'a misspelt property of include',
    index(`{ by: [{ title: 'string' }], include: ['titel'] }`),
    'The kind has no property \\"titel\\" to include.',
  ],
  [
    'a type that does not fit the property',
    index(`{ by: [{ title: 'time' }] }`),
    `The property title does not hold what an index of type 'time' holds.`,
  ],
  [
    'an array without []',
    index(`{ by: [{ labels: 'string' }] }`),
    `The property labels holds an array or lies in one, so its type is 'string[]'.`,
  ],
  [
    'an object in place of the list of properties',
    index(`{ by: { title: 'string' } }`),
    'The option by has to be a list of one to eight properties, each in an object of its own',
  ],
  [
    'the name of a property in place of an object',
    index(`{ by: ['title'] }`),
    'Each property of an index stands in an object of its own',
  ],
  [
    'an index without properties',
    index(`{ unique: true }`),
    'The option by has to be a list of one to eight properties',
  ],
  [
    'a condition of an index',
    index(`{ by: [{ title: 'string' }], unique: true, on: { status: 'open' } }`),
    "An index of a kind takes no on. To leave entities out of it, or to free their unique keys, index a property that is null or an empty array in them, with nulls: 'skip'.",
  ],
  [
    'a unique index by the shard of the entity',
    index(`{ by: [{ title: 'string' }], shardOn: 'id', unique: true }`),
    "A unique index needs a property as its shardOn, not 'id', because equal keys have to meet on one shard.",
  ],
  [
    'a key of texts for a time',
    index(`{ by: [{ made: { type: 'time', key: 'lower' } }] }`),
    "The key 'lower' of made takes the type 'string', not 'time'.",
  ],
  [
    'a key of times for texts in an array',
    index(`{ by: [{ labels: { type: 'string[]', key: 'day' } }] }`),
    "The key 'day' of labels takes the type 'time', not 'string[]'.",
  ],
  [
    'a misspelt property in an edit',
    `void issues.update('1', (now) => ({ ...now, titel: 'x' }))`,
    'The kind has no property \\"titel\\" to change.',
  ],
  [
    'a misspelt property in an edit that may keep the entity',
    `void issues.updateMany([], (now) => (now.title === '' ? unchanged : { titel: 'x', title: 'x' }))`,
    'The kind has no property \\"titel\\" to change.',
  ],
  [
    'a misspelt property in an edit of matching entities',
    `void issues.byTime.updateWhere({}, () => ({ title: 'x', titel: 'x' }), { scatter: true })`,
    'The kind has no property \\"titel\\" to change.',
  ],
  [
    'a misspelt property in an edit of a kind with a schema',
    `void notes.upsert('1', { text: '' }, (now) => ({ ...now, txet: '' }))`,
    'The kind has no property \\"txet\\" to change.',
  ],
  [
    'a function in a kind',
    kind('{ run: () => void }'),
    'The property run holds a function, which cannot be stored.',
  ],
  [
    'a Map within an array of a kind',
    kind('{ lists: { counts: Map<string, number> }[] }'),
    'The property lists[].counts holds a Map, which cannot be stored.',
  ],
  [
    'a query without the property that the index is sharded on',
    'issues.byProject.all({})',
    'The index is sharded on project: give a value or a list for it, or ask all shards with { scatter: true }.',
  ],
  [
    'a range on the property that the index is sharded on',
    `issues.byProject.count({ project: { gt: 'p' } })`,
    'The index is sharded on project',
  ],
  [
    'a query without scatter of an index that is sharded on another property',
    `issues.byTitle.first({ title: 'x' })`,
    'The index is sharded on project',
  ],
  [
    'a query without scatter of an index by the shard of the entity',
    `issues.byTime.page({}, { limit: 3 })`,
    'The index has its rows on the shards of their entities: ask all shards with { scatter: true }.',
  ],
  [
    'a range in the middle',
    `issues.byProject.page({ project: 'p', title: { startsWith: 'o' }, due: new Date() })`,
    'due cannot be given behind the range on title: a range has to be on the last property that is given.',
  ],
  [
    'a property that is skipped',
    `issues.byProject.page({ project: 'p', due: new Date() })`,
    'due cannot be given without a value of title, which stands before it in the index.',
  ],
  [
    'a property that the index does not have',
    `issues.byProject.page({ project: 'p', status: 'open' })`,
    'The index has no property \\"status\\"; it has project, title, due.',
  ],
  [
    'a value that may be undefined',
    `issues.byProject.page({ project: 'p' as string | undefined })`,
    'The value of project may be undefined, which would ask for all of them',
  ],
  [
    'a text that no entity has',
    `issues.byState.page({ state: 'opne' })`,
    'No entity has \\"opne\\" as its state.',
  ],
  [
    'null for a property without rows for it',
    `issues.byAssignee.page({ assignee: null })`,
    'The index has no row for an entity whose assignee is null or absent, so null cannot be given for assignee.',
  ],
  [
    'null for a property that is never null',
    `issues.byProject.page({ project: null })`,
    'The index has no row for an entity whose project is null or absent, so null cannot be given for project.',
  ],
  [
    'many queries that skip a property',
    `issues.byProject.countMany(['x'].map((title) => ({ title })))`,
    'title cannot be given without a value of project, which stands before it in the index.',
  ],
]

const head = `import { defineKind, typed } from '@looseleaf/kinds'
import { unchanged } from '@looseleaf/store'
import { z } from 'zod'
interface Issue {
  project: string
  title: string
  labels: string[]
  assignee: string | null
  due?: Date
  made: Date
  review?: { by: string }
  state: 'open' | 'closed'
}
const Issues = defineKind('issue', {
  schema: typed<Issue>(),
  indexes: {
    byProject: { by: [{ project: 'string' }, { title: 'string' }, { due: { type: 'time', nulls: 'last' } }] },
    byTitle: { by: [{ title: 'string' }, { project: 'string' }], shardOn: 'project' },
    byTime: { by: [{ made: 'time' }], shardOn: 'id' },
    byState: { by: [{ state: 'string' }] },
    byAssignee: { by: [{ assignee: { type: 'string', nulls: 'skip' } }] },
  },
})
declare const issues: ReturnType<typeof Issues.in>
const Notes = defineKind('note', { schema: z.object({ text: z.string(), lines: z.number().default(1) }) })
declare const notes: ReturnType<typeof Notes.in>
`

const root = fileURLToPath(new URL('../../..', import.meta.url))
let folder: string
let output: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'looseleaf-sentences-'))
  for (const [i, [, code]] of mistakes.entries())
    writeFileSync(join(folder, `mistake${i}.ts`), `${head}${code}\n`)
  const settings = {
    extends: join(root, 'tooling/tsconfig/check.json'),
    compilerOptions: {
      paths: {
        '@looseleaf/kinds': [join(root, 'packages/kinds/src/index.ts')],
        '@looseleaf/store': [join(root, 'packages/store/src/index.ts')],
        zod: [join(root, 'packages/kinds/node_modules/zod/index.d.ts')],
      },
      typeRoots: [join(root, 'node_modules/@types')],
      moduleDetection: 'force',
      noUnusedLocals: false,
    },
    include: ['*.ts'],
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  const tsc = join(root, 'node_modules/.bin/tsc')
  output = spawnSync(tsc, ['-p', folder, '--pretty', 'false'], { cwd: folder, encoding: 'utf8' }).stdout
}, 60_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Returns the errors of a file, each with all of its lines. */
const errorsOf = (file: string): string[] =>
  output.split(/\n(?=\S)/).filter((error) => error.startsWith(`${file}(`))

test.each(mistakes.map(([name, , sentence], i) => [name, sentence, i] as const))(
  'the compiler reports %s with a sentence',
  (_, sentence, i) => {
    const errors = errorsOf(`mistake${i}.ts`)
    expect(errors).toHaveLength(1)
    expect(errors[0]).toContain(sentence)
  },
)

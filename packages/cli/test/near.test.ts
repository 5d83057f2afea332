import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectFolder, runInside, type Finished } from './run-command.ts'

const CONFIG = `
  import { defineConfig } from '@looseleaf/cli'
  import { defineKind, typed } from '@looseleaf/kinds'
  const indexes = { byProject: { by: [{ project: 'uuid' }] } }
  const project = defineKind('project', { schema: typed() })
  const issue = defineKind('issue', { schema: typed(), indexes, near: 'project' })
  const comment = defineKind('comment', { schema: typed(), near: 'issue' })
  export default defineConfig({ shards: 'sqlite:data?shards=2', kinds: [project, issue, comment] })
`
// The buckets of these ids are 111, 222 and 333.
const PROJECT = '01900000-0000-7111-8000-000000000001'
const NEAR = '01900000-0000-7111-8000-000000000002'
const FAR = '01900000-0000-7222-8000-000000000003'
const LOST = '01900000-0000-7333-8000-000000000004'
const COMMENT = '01900000-0000-7222-8000-000000000005'

interface Run {
  (...args: string[]): Promise<Finished>
  withConfig(config: string, ...args: string[]): Promise<Finished>
}

async function filledProject(): Promise<Run> {
  const cwd = projectFolder()
  writeFileSync(join(cwd, 'looseleaf.config.ts'), CONFIG)
  const run: Run = (...args) => runInside(args, { cwd })
  run.withConfig = (config, ...args) => {
    writeFileSync(join(cwd, 'other.config.ts'), config)
    return run(...args, '--config', 'other.config.ts')
  }
  await run('init')
  for (const bag of [
    { id: PROJECT, _kind: 'project' },
    { id: NEAR, _kind: 'issue', project: PROJECT },
    { id: FAR, _kind: 'issue', project: PROJECT },
    { id: LOST, _kind: 'issue' },
    { id: COMMENT, _kind: 'comment', issue: FAR, mentions: [{ issue: FAR.toUpperCase() }, NEAR, FAR] },
  ])
    expect(await run('put', JSON.stringify(bag))).toMatchObject({ code: 0 })
  return run
}

test('kind check counts the entities at their place, and status shows these counts with their time', async () => {
  const run = await filledProject()
  const before = await run('status')
  expect(before.stdout).toMatch(/issue +│? *project +│? *\? .*never: looseleaf kind check/)
  expect((await run('status', '--json')).json()).toMatchObject({
    near: [
      { kind: 'issue', near: 'project', counts: null },
      { kind: 'comment', near: 'issue', counts: null },
    ],
  })
  const issue = { entities: 3, atPlace: 1, elsewhere: 1, withoutPlace: 1 }
  const comment = { entities: 1, atPlace: 1, elsewhere: 0, withoutPlace: 0 }
  expect((await run('kind', 'check', '--json')).json()).toEqual({
    scanned: 5,
    kinds: {
      project: { near: null, entities: 1, atPlace: 0, elsewhere: 0, withoutPlace: 0, indexes: {} },
      issue: { near: 'project', ...issue, indexes: { issue_by_project: { rows: 2, near: 1, local: 2 } } },
      comment: { near: 'issue', ...comment, indexes: {} },
    },
  })
  const { code, stdout } = await run('kind', 'check', 'issue')
  expect(code).toBe(0)
  expect(stdout).toContain('1 (33.3%)')
  expect(stdout).toContain('issue_by_project')
  expect(stdout).toContain('5 entities of the store read.')
  const checkedAt = expect.stringMatching(/^20.*Z$/)
  expect((await run('status', '--json')).json()).toMatchObject({
    near: [
      { kind: 'issue', near: 'project', counts: { ...issue, checkedAt } },
      { kind: 'comment', near: 'issue', counts: { ...comment, checkedAt } },
    ],
  })
  expect((await run('status')).stdout).toContain('1 (33.3%)')
})

test('put and import give a new entity the bucket of the property of near', async () => {
  const cwd = projectFolder()
  writeFileSync(join(cwd, 'looseleaf.config.ts'), CONFIG)
  const run = (args: readonly string[], input = ''): Promise<Finished> => runInside(args, { cwd, input })
  await run(['init'])
  const issue = JSON.stringify({ _kind: 'issue', project: PROJECT })
  expect(await run(['put', issue])).toMatchObject({ code: 0 })
  expect(await run(['import', '-'], `${issue}\n${issue}`)).toMatchObject({ code: 0 })
  for (let time = 0; time < 2; time++)
    expect(await run(['import', '-', '--ids-from', 'may'], `${issue}\n${issue}`)).toMatchObject({ code: 0 })
  const { kinds } = (await run(['kind', 'check', '--json'])).json<{ kinds: Record<string, unknown> }>()
  expect(kinds['issue']).toMatchObject({ entities: 5, atPlace: 5, elsewhere: 0, withoutPlace: 0 })
  const refused = await run(['put', JSON.stringify({ _kind: 'issue' })])
  expect(refused).toMatchObject({ code: 2, stdout: '' })
  expect(refused.stderr).toContain(
    'An entity of the kind issue is placed near its property project, and this value has none of it.',
  )
})

test('counts by a former near property are not shown', async () => {
  const run = await filledProject()
  await run('kind', 'check')
  // A file of its own, because a process loads a module once.
  const other = await run.withConfig(
    CONFIG.replace(`near: 'project'`, `near: { reporter: 'uuid' }`),
    'status',
    '--json',
  )
  expect(other.json()).toMatchObject({
    near: [{ kind: 'issue', near: 'reporter', counts: null }, { kind: 'comment' }],
  })
})

test('kind move-near counts entities elsewhere and the references to them, and writes nothing', async () => {
  const run = await filledProject()
  const exported = (await run('export')).stdout
  expect((await run('kind', 'move-near', '--json')).json()).toEqual({
    scanned: 5,
    kinds: {
      issue: { near: 'project', entities: 3, elsewhere: 1, withoutPlace: 1 },
      comment: { near: 'issue', entities: 1, elsewhere: 0, withoutPlace: 0 },
    },
    searched: 1,
    references: { 'comment.issue': 1, 'comment.mentions': 1, 'comment.mentions.issue': 1 },
  })
  const { code, stdout } = await run('kind', 'move-near', 'issue')
  expect(code).toBe(0)
  expect(stdout).toContain('issue: 1 of 3 entities are not near project, and 1 without it.')
  expect(stdout).toContain('1 entity has an id of them in comment.issue.')
  expect(stdout).toContain('collection.newId(item)')
  expect(stdout).toContain('Nothing was written.')
  expect((await run('export')).stdout).toBe(exported)
  expect((await run('kind', 'move-near', 'project')).stdout).toBe(
    'The kind project has no option near. These kinds have it: issue, comment.\n',
  )
  const both = (await run('kind', 'move-near', 'project', 'comment')).stdout
  expect(both).toMatch(/^comment: 0 of 1 entity is not near issue/m)
  expect(both).toContain('The kind project has no option near.')
  expect((await run('kind', 'move-near', 'comment')).stdout).not.toContain('Steps')
})

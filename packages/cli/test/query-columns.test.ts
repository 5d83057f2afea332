import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectFolder, runInside } from './run-command.ts'

const CONFIG = `
import { defineConfig } from '@looseleaf/cli'
import { defineKind, typed } from '@looseleaf/kinds'

const post = defineKind('post', {
  schema: typed(),
  indexes: {
    byMonth: {
      by: [
        { published: { type: 'time', key: 'month', as: 'month' } },
        { 'author.name': { type: 'string', nulls: 'last' } },
        { title: { type: 'string', key: 'lower' } },
      ],
    },
    byHost: { by: [{ links: { type: 'string[]', key: 'host', as: 'hosts' } }] },
  },
})
export default defineConfig({ shards: 'sqlite:data?shards=1', kinds: [post] })
`

test('query prints the keys of properties under another name, and the values of paths', async () => {
  const cwd = projectFolder()
  writeFileSync(join(cwd, 'looseleaf.config.ts'), CONFIG)
  await runInside(['init'], { cwd })
  const input = [
    `{"_kind":"post","published":{"$date":"2009-02-27T12:30:00Z"},"author":{"name":"Ada"},"title":"Hi","links":["https://a.example/1","https://b.example/2"]}`,
    `{"_kind":"post","published":{"$date":"2009-02-28T00:00:00Z"},"title":"Yo"}`,
  ].join('\n')
  await runInside(['import', '-'], { cwd, input })
  const rowsOf = async (...query: string[]): Promise<string[][]> => {
    const { stdout } = await runInside(['query', ...query, '--scatter'], { cwd })
    const lines = stdout.split('\n').filter((line) => /^(ID|[0-9a-f-]{36}) /.test(line))
    return lines.map((line) => line.split(/ {2,}/).slice(1))
  }
  expect(await rowsOf('post_by_month')).toEqual([
    ['month', 'author.name', 'title', 'OTHER PROPERTIES'],
    ['2009-02-01T00:00:00.000Z', 'Ada', 'Hi', expect.stringContaining('{ published: 2009')],
    ['2009-02-01T00:00:00.000Z', 'Yo', expect.stringContaining('{ published: 2009')],
  ])
  expect(await rowsOf('post_by_host', 'hosts=https://b.example/')).toEqual([
    ['hosts', 'OTHER PROPERTIES'],
    ['["a.example", "b.example"]', expect.stringContaining('{ published: 2009')],
  ])
})

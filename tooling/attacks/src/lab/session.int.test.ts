import { freshShards } from '@looseleaf-tooling/vitest/mariadb'
import { expect, onTestFinished, test } from 'vitest'
import { createSession } from './session.ts'

test('a session asks the current server, even while the former one still answers', async () => {
  const { urls } = await freshShards(2)
  let url = urls[0]!
  const session = createSession(() => url)
  onTestFinished(() => session.close())
  const where = async (): Promise<unknown> => (await session.ask('SELECT DATABASE() AS name'))[0]?.['name']
  const nameOf = (of: string): string => new URL(of).pathname.slice(1)
  expect(await where()).toBe(nameOf(urls[0]!))
  url = urls[1]!
  expect(await where()).toBe(nameOf(urls[1]!))
})

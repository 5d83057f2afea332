import { createServer, type AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { freshBench } from './bench.ts'
import { ended, runForgetful } from './run-forgetful.ts'

const bench = await freshBench()

test('a process with open connections ends when it has nothing else to do', async () => {
  expect(await runForgetful(bench.url, 'idle')).toEqual(ended)
})

test('a process does not end while calls are in flight or wait for a connection', async () => {
  expect(await runForgetful(bench.url, 'busy')).toEqual(ended)
})

test('a process ends while the breaker probes a server that is gone', async () => {
  const listener = createServer()
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const { port } = listener.address() as AddressInfo
  await new Promise((resolve) => listener.close(resolve))
  expect(await runForgetful(`mysql://u:p@127.0.0.1:${port}/d`, 'refused')).toEqual(ended)
})

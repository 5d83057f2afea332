import { LooseleafError } from '@looseleaf/core'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { createActs, type Act, type PlannedAct } from './acts.ts'
import { readForm } from './read-form.ts'

test('a long act continues after its answer, is listed, blocks other acts on its subject, and ends with the console', async () => {
  const ended: Act[] = []
  const acts = createActs({ onAct: (act) => ended.push(act) }, '/store', () => {})
  const long: PlannedAct = {
    name: 'clean',
    about: 'by_name',
    run({ signal, showProgress }) {
      showProgress('half of it')
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('cut off')))
      })
    },
  }
  await acts.begin(long)
  expect(acts.inProgress()).toMatchObject([{ name: 'clean', about: 'by_name', progress: 'half of it' }])
  expect(ended).toEqual([])
  const quick = { name: 'plant', run: async () => {} }
  await expect(acts.begin({ ...quick, about: 'by_name' })).rejects.toMatchObject({
    status: 409,
    message: expect.stringMatching(/^by_name is busy: clean has been running since/),
  })
  await acts.begin({ ...quick, about: 'by_n' })
  expect(acts.list()).toMatchObject([{ name: 'plant', about: 'by_n', failure: undefined }])
  acts.close()
  await expect.poll(() => acts.inProgress()).toEqual([])
  expect(acts.list()).toMatchObject([{ name: 'clean', failure: 'cut off' }, { name: 'plant' }])
  expect(ended).toHaveLength(2)
  await expect(acts.begin({ ...quick, about: 'by_n' })).rejects.toMatchObject({ status: 503 })
})

test('an act whose user ends it has an outcome and no failure', async () => {
  const acts = createActs({ onAct: () => {} }, '/store', () => {})
  await acts.begin({
    name: 'drain',
    about: 'shard 1',
    endLabel: 'Stop',
    async run({ signal }) {
      await once(signal, 'abort')
      throw new LooseleafError('ABORTED', 'The call was cancelled by its signal.')
    },
  })
  await acts.end('shard 1')
  expect(acts.list()).toMatchObject([
    { name: 'drain', failure: undefined, outcome: 'Ended early; changes made so far stay.' },
  ])
})

function sent(): PassThrough & IncomingMessage {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return Object.assign(new PassThrough(), { headers }) as never
}

test('a form that arrives too slowly is refused, and a form in several pieces is read', async () => {
  const slow = sent()
  slow.write('token=')
  await expect(readForm(slow, 20)).rejects.toMatchObject({ status: 408 })
  const whole = sent()
  const form = readForm(whole)
  whole.write('token=a&cl')
  setImmediate(() => whole.end('ean=b'))
  expect(Object.fromEntries(await form)).toEqual({ token: 'a', clean: 'b' })
})

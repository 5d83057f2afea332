import { expect, test } from 'vitest'
import type { Answer } from './browser.ts'
import { createTraffic, type Outage, type Traffic } from './traffic.ts'

const NOT_SAVED =
  '<h1>One moment, please</h1><p>Your form was not saved: send it again in a little while.</p>'
const NO_ACCOUNT = '<h1>Your account cannot be read at the moment</h1>'

const ofMira: Outage = { hasAccount: (person) => person === 'Mira' }

const trafficWith = (outage: () => Outage | undefined): Traffic =>
  createTraffic({ wasUpSince: () => true }, new AbortController().signal, outage)

const answer = (status: number, text: string, saysWhen = status === 503): (() => Promise<Answer>) => {
  const given = { status, text, saysWhen }
  return () => Promise.resolve(given)
}

test('a form that is refused in plain words while a shard is stopped is no failure', async () => {
  const traffic = trafficWith(() => ofMira)
  await traffic.send('post', 303, answer(503, NO_ACCOUNT), 'Mira')
  await traffic.send('like', 303, answer(503, NOT_SAVED), 'Noor')
  expect(traffic.counts).toMatchObject({ refusedSenders: 1, refusedForms: 1, failed: 0 })
})

test('a form whose outage ends before its answer is refused, too', async () => {
  let outage: Outage | undefined = ofMira
  const traffic = trafficWith(() => outage)
  const answered = Promise.withResolvers<Answer>()
  const sending = traffic.send('post', 303, () => answered.promise, 'Mira')
  outage = undefined
  answered.resolve({ status: 503, text: NO_ACCOUNT, saysWhen: true })
  await sending
  expect(traffic.counts).toMatchObject({ refusedSenders: 1, failed: 0 })
})

test.each([
  ['an account that the site can read', answer(503, NO_ACCOUNT), 'Noor', true],
  ['a form outside of an outage', answer(503, NO_ACCOUNT), 'Mira', false],
  ['an error of the site', answer(500, 'Something went wrong'), 'Mira', true],
  ['a refusal without a time to try again', answer(503, NO_ACCOUNT, false), 'Mira', true],
  ['a page', answer(503, NO_ACCOUNT), undefined, true],
] as const)('a refusal of %s is a failure', async (_, request, sender, hasOutage) => {
  const traffic = trafficWith(() => (hasOutage ? ofMira : undefined))
  await traffic.send('request', sender === undefined ? 200 : 303, request, sender)
  expect(traffic.counts).toMatchObject({ refusedSenders: 0, refusedForms: 0, failed: 1 })
})

import { expect, test } from 'vitest'
import { feedDate } from './feed-date.ts'

const now = new Date('2026-06-01T12:00:00Z')

test.each([
  ['Sat, 07 Sep 2002 00:00:01 GMT', '2002-09-07T00:00:01.000Z'],
  ['Thu, 14 May 2020 10:00:18 Z', '2020-05-14T10:00:18.000Z'],
  ['03 Apr 02 1500 GMT', '2002-04-03T15:00:00.000Z'],
  ['7 Sep 98 09:30 +0200', '1998-09-07T07:30:00.000Z'],
  ['Mon, 15 Nov 2004 14:11 EST', '2004-11-15T19:11:00.000Z'],
  ['Tuesday, 6 January 2026 08:05:00 Nowhere/Land', '2026-01-06T08:05:00.000Z'],
  ['2003-12-13T18:30:02.25+01:00', '2003-12-13T17:30:02.250Z'],
  ['2003-12-13T18:30:02-0500', '2003-12-13T23:30:02.000Z'],
  ['2003-12-13 8:30', '2003-12-13T08:30:00.000Z'],
  ['2003-12-13T08:30:00 and some words', '2003-12-13T08:30:00.000Z'],
  ['2003-12-13', '2003-12-13T00:00:00.000Z'],
  ['2003-12', '2003-12-01T00:00:00.000Z'],
  ['December 13, 2003', '2003-12-13T00:00:00.000Z'],
])('the feed date %s is the same in every time zone', (text, expected) => {
  expect(feedDate(text, now)?.toISOString()).toBe(expected)
})

test.each([
  '',
  'soon',
  '0000-00-00',
  '31 Feb 2020',
  '32 Jan 2020 10:00 GMT',
  '1848-03-18',
  '2099-01-01',
  'NaN',
  '99'.repeat(60),
])('“%s” is not a valid feed date', (text) => {
  expect(feedDate(text, now)).toBeUndefined()
})

test.each([
  ['Seg, 24 Set 2018 19:42:40 -0300', '2018-09-24T22:42:40Z'],
  ['Mi, 24 Okt 2018 19:42:40 +0100', '2018-10-24T18:42:40Z'],
  ['lun., 3 août 2020 08:00:00 +0200', '2020-08-03T06:00:00Z'],
  ['Mi, 4 März 2020 08:00:00 +0100', '2020-03-04T07:00:00Z'],
  ['jue, 9 ene 2020 08:00:00 GMT', '2020-01-09T08:00:00Z'],
  ['Ter, 4 Fev 2020 08:00:00 GMT', '2020-02-04T08:00:00Z'],
  ['Sex, 4 Dez 2020 08:00:00 GMT', '2020-12-04T08:00:00Z'],
  ['Mar, 4 Ago 2020 08:00:00 GMT', '2020-08-04T08:00:00Z'],
  ['Mar, 3 Mar 2020 08:00:00 GMT', '2020-03-03T08:00:00Z'],
  ['Tuesday, 3 March 2020 08:00:00 GMT', '2020-03-03T08:00:00Z'],
])('a date with the name of a month in another language is read: %s', (text, expected) => {
  expect(feedDate(text, now)).toEqual(new Date(expected))
})

test('parts of a time may have one digit', () => {
  expect(feedDate('2003-12-13T12:35:9+01:00', now)).toEqual(new Date('2003-12-13T11:35:09Z'))
  expect(feedDate('Sat, 13 Dec 2003 2:35:9 GMT', now)).toEqual(new Date('2003-12-13T02:35:09Z'))
})

import { expectTypeOf, test } from 'vitest'
import type { DataStoreOptions, Randomness, Time } from '../src/index.ts'

test('what options are of can be named', () => {
  expectTypeOf<Time>().toEqualTypeOf<NonNullable<DataStoreOptions['time']>>()
  expectTypeOf<Randomness>().toEqualTypeOf<NonNullable<DataStoreOptions['random']>>()
})

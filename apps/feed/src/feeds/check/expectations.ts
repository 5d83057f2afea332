import { z } from 'zod'

const expectedItem = z.strictObject({
  title: z.string(),
  /** Null for an item without a link. */
  link: z.string().nullable(),
  /** Null for an item without a date. */
  published: z.iso.datetime().nullable(),
  /** Addresses of pictures, sounds, films and other files, in their order. */
  enclosures: z.array(z.string()).default([]),
})

const expectedFile = z.union([
  z.strictObject({
    /** Address that the file stands for, to which its relative links refer. */
    address: z.url().optional(),
    title: z.string(),
    items: z.array(expectedItem),
  }),
  /** A file that is no feed, with a part of the reason. */
  z.strictObject({ refused: z.string() }),
])

/** Expectations of the feeds in a folder, by the names of their files. */
export const expectations = z.record(z.string(), expectedFile)

export type ExpectedFile = z.output<typeof expectedFile>

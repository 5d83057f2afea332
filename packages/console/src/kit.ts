export { actButton, actOrState } from './acts/act-button.ts'
export { purposeOf, type Purposes } from './indexes/purposes.ts'
export {
  drawing,
  linearAxis,
  linePath,
  logAxis,
  rules,
  tenth,
  type Axis,
  type DrawingOptions,
  type Point,
} from './kit/drawing.ts'
export { Html, markup } from './kit/html.ts'
export { page, type Frame, type Link } from './kit/page.ts'
export { scrolling, table } from './kit/table.ts'
export { bytesText, capital, counted, durationText, milliseconds, timeText } from './kit/text.ts'
export { movesSection } from './shards/moves-section.ts'

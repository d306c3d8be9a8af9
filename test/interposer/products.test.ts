// Matrix products through cuBLAS.
import { testCases } from "./cases.ts";

testCases(["products/products", "products/samples", "products/lines", "products/parts"]);

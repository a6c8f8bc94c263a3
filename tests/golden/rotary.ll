; slices and cat disappear in index arithmetic

; == mul_sub_mul_add
; loop [p0, p1, p2] kept 3 vector 2
;   buffer b0 f32
;   buffer b1 f32
;   buffer b2 f32
;   buffer b3 f32 written
;   access a0 b0 + p3 [p4, p5, 1]
;   access a1 b1 + 0 [0, p6, 1]
;   access a2 b0 + 0 [p7, p8, 1]
;   access a3 b2 + 0 [0, p9, 1]
;   access a4 b3 + p10 [p11, p12, 1]
;   access a5 b3 + 0 [p13, p14, 1]
;   %0 f32 = load a0
;   %1 f32 = load a1
;   %2 f32 = op Mul %0 %1
;   %3 f32 = load a2
;   %4 f32 = load a3
;   %5 f32 = op Mul %3 %4
;   %6 f32 = op Add %2 %5
;   %7 f32 = op Mul %3 %1
;   %8 f32 = op Mul %0 %4
;   %9 f32 = op Sub %7 %8
;   %10 f32 = store a4 %6
;   %11 f32 = store a5 %9
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr i64, ptr %1, i64 1
  %8 = load i64, ptr %7, align 8
  %9 = getelementptr i64, ptr %1, i64 2
  %10 = load i64, ptr %9, align 8
  %11 = getelementptr ptr, ptr %0, i64 0
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr ptr, ptr %0, i64 1
  %14 = load ptr, ptr %13, align 8
  %15 = getelementptr ptr, ptr %0, i64 2
  %16 = load ptr, ptr %15, align 8
  %17 = getelementptr ptr, ptr %0, i64 3
  %18 = load ptr, ptr %17, align 8
  %19 = getelementptr i64, ptr %1, i64 3
  %20 = load i64, ptr %19, align 8
  %21 = getelementptr float, ptr %12, i64 %20
  %22 = getelementptr i64, ptr %1, i64 4
  %23 = load i64, ptr %22, align 8
  %24 = getelementptr i64, ptr %1, i64 5
  %25 = load i64, ptr %24, align 8
  %26 = getelementptr i64, ptr %1, i64 6
  %27 = load i64, ptr %26, align 8
  %28 = getelementptr i64, ptr %1, i64 7
  %29 = load i64, ptr %28, align 8
  %30 = getelementptr i64, ptr %1, i64 8
  %31 = load i64, ptr %30, align 8
  %32 = getelementptr i64, ptr %1, i64 9
  %33 = load i64, ptr %32, align 8
  %34 = getelementptr i64, ptr %1, i64 10
  %35 = load i64, ptr %34, align 8
  %36 = getelementptr float, ptr %18, i64 %35
  %37 = getelementptr i64, ptr %1, i64 11
  %38 = load i64, ptr %37, align 8
  %39 = getelementptr i64, ptr %1, i64 12
  %40 = load i64, ptr %39, align 8
  %41 = getelementptr i64, ptr %1, i64 13
  %42 = load i64, ptr %41, align 8
  %43 = getelementptr i64, ptr %1, i64 14
  %44 = load i64, ptr %43, align 8
  %45 = mul i64 1, %6
  %46 = mul i64 %45, %8
  %47 = mul i64 %46, %10
  %48 = icmp sge i64 %47, 8388608
  %49 = ptrtoint ptr %36 to i64
  %50 = or i64 0, %49
  %51 = mul i64 %38, 4
  %52 = or i64 %50, %51
  %53 = mul i64 %40, 4
  %54 = or i64 %52, %53
  %55 = icmp sge i64 %47, 8388608
  %56 = ptrtoint ptr %18 to i64
  %57 = or i64 %54, %56
  %58 = mul i64 %42, 4
  %59 = or i64 %57, %58
  %60 = mul i64 %44, 4
  %61 = or i64 %59, %60
  %62 = and i64 %61, 63
  %63 = icmp eq i64 %62, 0
  %64 = and i1 %55, %63
  %65 = add i64 %10, 4095
  %66 = lshr i64 %65, 12
  %67 = urem i64 %2, %66
  %68 = udiv i64 %2, %66
  %69 = urem i64 %68, %8
  %70 = udiv i64 %68, %8
  br label %task.head

done:                                             ; preds = %endif9, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %354, %tail.end ]
  %71 = phi i64 [ %70, %work ], [ %353, %tail.end ]
  %72 = phi i64 [ %69, %work ], [ %351, %tail.end ]
  %73 = phi i64 [ %67, %work ], [ %347, %tail.end ]
  %74 = icmp slt i64 %task1, %3
  br i1 %74, label %task, label %task.end

task:                                             ; preds = %task.head
  %75 = mul i64 %71, %23
  %76 = getelementptr float, ptr %21, i64 %75
  %77 = mul i64 %71, %29
  %78 = getelementptr float, ptr %12, i64 %77
  %79 = mul i64 %71, %38
  %80 = getelementptr float, ptr %36, i64 %79
  %81 = mul i64 %71, %42
  %82 = getelementptr float, ptr %18, i64 %81
  %83 = mul i64 %72, %25
  %84 = getelementptr float, ptr %76, i64 %83
  %85 = mul i64 %72, %27
  %86 = getelementptr float, ptr %14, i64 %85
  %87 = mul i64 %72, %31
  %88 = getelementptr float, ptr %78, i64 %87
  %89 = mul i64 %72, %33
  %90 = getelementptr float, ptr %16, i64 %89
  %91 = mul i64 %72, %40
  %92 = getelementptr float, ptr %80, i64 %91
  %93 = mul i64 %72, %44
  %94 = getelementptr float, ptr %82, i64 %93
  %95 = mul i64 %73, 4096
  %96 = add i64 %95, 4096
  %97 = call i64 @llvm.smin.i64(i64 %96, i64 %10)
  %98 = sub i64 %97, %95
  %99 = and i64 %98, -32
  %100 = add i64 %95, %99
  br i1 %64, label %then, label %else

then:                                             ; preds = %task
  br label %vector.head

vector.head:                                      ; preds = %vector, %then
  %vector2 = phi i64 [ %95, %then ], [ %208, %vector ]
  %101 = icmp slt i64 %vector2, %100
  br i1 %101, label %vector, label %vector.end

vector:                                           ; preds = %vector.head
  %102 = mul i64 %vector2, 1
  %103 = getelementptr float, ptr %84, i64 %102
  %104 = load <8 x float>, ptr %103, align 4
  %105 = mul i64 %vector2, 1
  %106 = getelementptr float, ptr %84, i64 %105
  %107 = getelementptr float, ptr %106, i64 8
  %108 = load <8 x float>, ptr %107, align 4
  %109 = mul i64 %vector2, 1
  %110 = getelementptr float, ptr %84, i64 %109
  %111 = getelementptr float, ptr %110, i64 16
  %112 = load <8 x float>, ptr %111, align 4
  %113 = mul i64 %vector2, 1
  %114 = getelementptr float, ptr %84, i64 %113
  %115 = getelementptr float, ptr %114, i64 24
  %116 = load <8 x float>, ptr %115, align 4
  %117 = mul i64 %vector2, 1
  %118 = getelementptr float, ptr %86, i64 %117
  %119 = load <8 x float>, ptr %118, align 4
  %120 = mul i64 %vector2, 1
  %121 = getelementptr float, ptr %86, i64 %120
  %122 = getelementptr float, ptr %121, i64 8
  %123 = load <8 x float>, ptr %122, align 4
  %124 = mul i64 %vector2, 1
  %125 = getelementptr float, ptr %86, i64 %124
  %126 = getelementptr float, ptr %125, i64 16
  %127 = load <8 x float>, ptr %126, align 4
  %128 = mul i64 %vector2, 1
  %129 = getelementptr float, ptr %86, i64 %128
  %130 = getelementptr float, ptr %129, i64 24
  %131 = load <8 x float>, ptr %130, align 4
  %132 = fmul <8 x float> %104, %119
  %133 = fmul <8 x float> %108, %123
  %134 = fmul <8 x float> %112, %127
  %135 = fmul <8 x float> %116, %131
  %136 = mul i64 %vector2, 1
  %137 = getelementptr float, ptr %88, i64 %136
  %138 = load <8 x float>, ptr %137, align 4
  %139 = mul i64 %vector2, 1
  %140 = getelementptr float, ptr %88, i64 %139
  %141 = getelementptr float, ptr %140, i64 8
  %142 = load <8 x float>, ptr %141, align 4
  %143 = mul i64 %vector2, 1
  %144 = getelementptr float, ptr %88, i64 %143
  %145 = getelementptr float, ptr %144, i64 16
  %146 = load <8 x float>, ptr %145, align 4
  %147 = mul i64 %vector2, 1
  %148 = getelementptr float, ptr %88, i64 %147
  %149 = getelementptr float, ptr %148, i64 24
  %150 = load <8 x float>, ptr %149, align 4
  %151 = mul i64 %vector2, 1
  %152 = getelementptr float, ptr %90, i64 %151
  %153 = load <8 x float>, ptr %152, align 4
  %154 = mul i64 %vector2, 1
  %155 = getelementptr float, ptr %90, i64 %154
  %156 = getelementptr float, ptr %155, i64 8
  %157 = load <8 x float>, ptr %156, align 4
  %158 = mul i64 %vector2, 1
  %159 = getelementptr float, ptr %90, i64 %158
  %160 = getelementptr float, ptr %159, i64 16
  %161 = load <8 x float>, ptr %160, align 4
  %162 = mul i64 %vector2, 1
  %163 = getelementptr float, ptr %90, i64 %162
  %164 = getelementptr float, ptr %163, i64 24
  %165 = load <8 x float>, ptr %164, align 4
  %166 = fmul <8 x float> %138, %153
  %167 = fmul <8 x float> %142, %157
  %168 = fmul <8 x float> %146, %161
  %169 = fmul <8 x float> %150, %165
  %170 = fadd <8 x float> %132, %166
  %171 = fadd <8 x float> %133, %167
  %172 = fadd <8 x float> %134, %168
  %173 = fadd <8 x float> %135, %169
  %174 = fmul <8 x float> %138, %119
  %175 = fmul <8 x float> %142, %123
  %176 = fmul <8 x float> %146, %127
  %177 = fmul <8 x float> %150, %131
  %178 = fmul <8 x float> %104, %153
  %179 = fmul <8 x float> %108, %157
  %180 = fmul <8 x float> %112, %161
  %181 = fmul <8 x float> %116, %165
  %182 = fsub <8 x float> %174, %178
  %183 = fsub <8 x float> %175, %179
  %184 = fsub <8 x float> %176, %180
  %185 = fsub <8 x float> %177, %181
  %186 = mul i64 %vector2, 1
  %187 = getelementptr float, ptr %92, i64 %186
  store <8 x float> %170, ptr %187, align 32, !nontemporal !0
  %188 = mul i64 %vector2, 1
  %189 = getelementptr float, ptr %92, i64 %188
  %190 = getelementptr float, ptr %189, i64 8
  store <8 x float> %171, ptr %190, align 32, !nontemporal !0
  %191 = mul i64 %vector2, 1
  %192 = getelementptr float, ptr %92, i64 %191
  %193 = getelementptr float, ptr %192, i64 16
  store <8 x float> %172, ptr %193, align 32, !nontemporal !0
  %194 = mul i64 %vector2, 1
  %195 = getelementptr float, ptr %92, i64 %194
  %196 = getelementptr float, ptr %195, i64 24
  store <8 x float> %173, ptr %196, align 32, !nontemporal !0
  %197 = mul i64 %vector2, 1
  %198 = getelementptr float, ptr %94, i64 %197
  store <8 x float> %182, ptr %198, align 32, !nontemporal !0
  %199 = mul i64 %vector2, 1
  %200 = getelementptr float, ptr %94, i64 %199
  %201 = getelementptr float, ptr %200, i64 8
  store <8 x float> %183, ptr %201, align 32, !nontemporal !0
  %202 = mul i64 %vector2, 1
  %203 = getelementptr float, ptr %94, i64 %202
  %204 = getelementptr float, ptr %203, i64 16
  store <8 x float> %184, ptr %204, align 32, !nontemporal !0
  %205 = mul i64 %vector2, 1
  %206 = getelementptr float, ptr %94, i64 %205
  %207 = getelementptr float, ptr %206, i64 24
  store <8 x float> %185, ptr %207, align 32, !nontemporal !0
  %208 = add i64 %vector2, 32
  br label %vector.head

vector.end:                                       ; preds = %vector.head
  br label %endif

else:                                             ; preds = %task
  br label %vector.head3

vector.head3:                                     ; preds = %vector4, %else
  %vector5 = phi i64 [ %95, %else ], [ %316, %vector4 ]
  %209 = icmp slt i64 %vector5, %100
  br i1 %209, label %vector4, label %vector.end6

vector4:                                          ; preds = %vector.head3
  %210 = mul i64 %vector5, 1
  %211 = getelementptr float, ptr %84, i64 %210
  %212 = load <8 x float>, ptr %211, align 4
  %213 = mul i64 %vector5, 1
  %214 = getelementptr float, ptr %84, i64 %213
  %215 = getelementptr float, ptr %214, i64 8
  %216 = load <8 x float>, ptr %215, align 4
  %217 = mul i64 %vector5, 1
  %218 = getelementptr float, ptr %84, i64 %217
  %219 = getelementptr float, ptr %218, i64 16
  %220 = load <8 x float>, ptr %219, align 4
  %221 = mul i64 %vector5, 1
  %222 = getelementptr float, ptr %84, i64 %221
  %223 = getelementptr float, ptr %222, i64 24
  %224 = load <8 x float>, ptr %223, align 4
  %225 = mul i64 %vector5, 1
  %226 = getelementptr float, ptr %86, i64 %225
  %227 = load <8 x float>, ptr %226, align 4
  %228 = mul i64 %vector5, 1
  %229 = getelementptr float, ptr %86, i64 %228
  %230 = getelementptr float, ptr %229, i64 8
  %231 = load <8 x float>, ptr %230, align 4
  %232 = mul i64 %vector5, 1
  %233 = getelementptr float, ptr %86, i64 %232
  %234 = getelementptr float, ptr %233, i64 16
  %235 = load <8 x float>, ptr %234, align 4
  %236 = mul i64 %vector5, 1
  %237 = getelementptr float, ptr %86, i64 %236
  %238 = getelementptr float, ptr %237, i64 24
  %239 = load <8 x float>, ptr %238, align 4
  %240 = fmul <8 x float> %212, %227
  %241 = fmul <8 x float> %216, %231
  %242 = fmul <8 x float> %220, %235
  %243 = fmul <8 x float> %224, %239
  %244 = mul i64 %vector5, 1
  %245 = getelementptr float, ptr %88, i64 %244
  %246 = load <8 x float>, ptr %245, align 4
  %247 = mul i64 %vector5, 1
  %248 = getelementptr float, ptr %88, i64 %247
  %249 = getelementptr float, ptr %248, i64 8
  %250 = load <8 x float>, ptr %249, align 4
  %251 = mul i64 %vector5, 1
  %252 = getelementptr float, ptr %88, i64 %251
  %253 = getelementptr float, ptr %252, i64 16
  %254 = load <8 x float>, ptr %253, align 4
  %255 = mul i64 %vector5, 1
  %256 = getelementptr float, ptr %88, i64 %255
  %257 = getelementptr float, ptr %256, i64 24
  %258 = load <8 x float>, ptr %257, align 4
  %259 = mul i64 %vector5, 1
  %260 = getelementptr float, ptr %90, i64 %259
  %261 = load <8 x float>, ptr %260, align 4
  %262 = mul i64 %vector5, 1
  %263 = getelementptr float, ptr %90, i64 %262
  %264 = getelementptr float, ptr %263, i64 8
  %265 = load <8 x float>, ptr %264, align 4
  %266 = mul i64 %vector5, 1
  %267 = getelementptr float, ptr %90, i64 %266
  %268 = getelementptr float, ptr %267, i64 16
  %269 = load <8 x float>, ptr %268, align 4
  %270 = mul i64 %vector5, 1
  %271 = getelementptr float, ptr %90, i64 %270
  %272 = getelementptr float, ptr %271, i64 24
  %273 = load <8 x float>, ptr %272, align 4
  %274 = fmul <8 x float> %246, %261
  %275 = fmul <8 x float> %250, %265
  %276 = fmul <8 x float> %254, %269
  %277 = fmul <8 x float> %258, %273
  %278 = fadd <8 x float> %240, %274
  %279 = fadd <8 x float> %241, %275
  %280 = fadd <8 x float> %242, %276
  %281 = fadd <8 x float> %243, %277
  %282 = fmul <8 x float> %246, %227
  %283 = fmul <8 x float> %250, %231
  %284 = fmul <8 x float> %254, %235
  %285 = fmul <8 x float> %258, %239
  %286 = fmul <8 x float> %212, %261
  %287 = fmul <8 x float> %216, %265
  %288 = fmul <8 x float> %220, %269
  %289 = fmul <8 x float> %224, %273
  %290 = fsub <8 x float> %282, %286
  %291 = fsub <8 x float> %283, %287
  %292 = fsub <8 x float> %284, %288
  %293 = fsub <8 x float> %285, %289
  %294 = mul i64 %vector5, 1
  %295 = getelementptr float, ptr %92, i64 %294
  store <8 x float> %278, ptr %295, align 4
  %296 = mul i64 %vector5, 1
  %297 = getelementptr float, ptr %92, i64 %296
  %298 = getelementptr float, ptr %297, i64 8
  store <8 x float> %279, ptr %298, align 4
  %299 = mul i64 %vector5, 1
  %300 = getelementptr float, ptr %92, i64 %299
  %301 = getelementptr float, ptr %300, i64 16
  store <8 x float> %280, ptr %301, align 4
  %302 = mul i64 %vector5, 1
  %303 = getelementptr float, ptr %92, i64 %302
  %304 = getelementptr float, ptr %303, i64 24
  store <8 x float> %281, ptr %304, align 4
  %305 = mul i64 %vector5, 1
  %306 = getelementptr float, ptr %94, i64 %305
  store <8 x float> %290, ptr %306, align 4
  %307 = mul i64 %vector5, 1
  %308 = getelementptr float, ptr %94, i64 %307
  %309 = getelementptr float, ptr %308, i64 8
  store <8 x float> %291, ptr %309, align 4
  %310 = mul i64 %vector5, 1
  %311 = getelementptr float, ptr %94, i64 %310
  %312 = getelementptr float, ptr %311, i64 16
  store <8 x float> %292, ptr %312, align 4
  %313 = mul i64 %vector5, 1
  %314 = getelementptr float, ptr %94, i64 %313
  %315 = getelementptr float, ptr %314, i64 24
  store <8 x float> %293, ptr %315, align 4
  %316 = add i64 %vector5, 32
  br label %vector.head3

vector.end6:                                      ; preds = %vector.head3
  br label %endif

endif:                                            ; preds = %vector.end, %vector.end6
  br label %tail.head

tail.head:                                        ; preds = %tail, %endif
  %tail7 = phi i64 [ %100, %endif ], [ %344, %tail ]
  %317 = icmp slt i64 %tail7, %97
  br i1 %317, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %318 = sub i64 %97, %tail7
  %319 = call i64 @llvm.umin.i64(i64 %318, i64 8)
  %320 = trunc i64 %319 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %320, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %321 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %322 = mul i64 %tail7, 1
  %323 = getelementptr float, ptr %84, i64 %322
  %324 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %323, i32 4, <8 x i1> %321, <8 x float> zeroinitializer)
  %325 = mul i64 %tail7, 1
  %326 = getelementptr float, ptr %86, i64 %325
  %327 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %326, i32 4, <8 x i1> %321, <8 x float> zeroinitializer)
  %328 = fmul <8 x float> %324, %327
  %329 = mul i64 %tail7, 1
  %330 = getelementptr float, ptr %88, i64 %329
  %331 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %330, i32 4, <8 x i1> %321, <8 x float> zeroinitializer)
  %332 = mul i64 %tail7, 1
  %333 = getelementptr float, ptr %90, i64 %332
  %334 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %333, i32 4, <8 x i1> %321, <8 x float> zeroinitializer)
  %335 = fmul <8 x float> %331, %334
  %336 = fadd <8 x float> %328, %335
  %337 = fmul <8 x float> %331, %327
  %338 = fmul <8 x float> %324, %334
  %339 = fsub <8 x float> %337, %338
  %340 = mul i64 %tail7, 1
  %341 = getelementptr float, ptr %92, i64 %340
  call void @llvm.masked.store.v8f32.p0(<8 x float> %336, ptr %341, i32 4, <8 x i1> %321)
  %342 = mul i64 %tail7, 1
  %343 = getelementptr float, ptr %94, i64 %342
  call void @llvm.masked.store.v8f32.p0(<8 x float> %339, ptr %343, i32 4, <8 x i1> %321)
  %344 = add i64 %tail7, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %345 = add i64 %73, 1
  %346 = icmp eq i64 %345, %66
  %347 = select i1 %346, i64 0, i64 %345
  %348 = zext i1 %346 to i64
  %349 = add i64 %72, %348
  %350 = icmp eq i64 %349, %8
  %351 = select i1 %350, i64 0, i64 %349
  %352 = zext i1 %350 to i64
  %353 = add i64 %71, %352
  %354 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br i1 %64, label %then8, label %endif9

then8:                                            ; preds = %task.end
  call void @llvm.x86.sse.sfence()
  br label %endif9

endif9:                                           ; preds = %task.end, %then8
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #3

; Function Attrs: nounwind
declare void @llvm.x86.sse.sfence() #0

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }

!0 = !{i32 1}
